"""What `tollgate call` shows while the call runs: events as they are, or live output."""

from __future__ import annotations

from typing import Any, Protocol

import orjson

from app.cli.drawn import beside_output, goes_on
from app.cli.terminal import harmless
from app.cli.writer import Writer
from app.events.log import Frame
from app.execution.outcome import CallOutcome

_ENDS_HERE = "(it ends with this command; under `tollgate serve` it would go on)\n"


class View(Protocol):
    """Shows the frames of one session."""

    def show(self, frame: Frame) -> None:
        """Take one frame, in order."""

    def finish(self, outcome: CallOutcome) -> None:
        """Show what the call came to."""


class EventLines:
    """One JSON event per line, the bytes that a WebSocket client would get."""

    def __init__(self, out: Writer) -> None:
        self._out = out

    def show(self, frame: Frame) -> None:
        self._out.put(frame.body + b"\n", droppable=not frame.seq)

    def finish(self, outcome: CallOutcome) -> None:
        """Everything has been said by `tool_call_completed`."""


class LiveText:
    """The tool's output as it comes, then its result.

    What was streamed is not repeated; the rest of a result (exit code, error, where the
    whole output lies) goes to standard error then, so that standard output holds exactly
    what the tool printed.

    Args:
        safe: keep control sequences from a terminal.
    """

    def __init__(self, out: Writer, err: Writer, *, safe_out: bool, safe_err: bool) -> None:
        self._out = out
        self._err = err
        self._safe_out = safe_out
        self._safe_err = safe_err
        self._streamed = False
        self._open_line = False

    def show(self, frame: Frame) -> None:
        if frame.seq:
            return
        event: dict[str, Any] = orjson.loads(frame.body)
        if event["type"] != "tool_result_streamed" or not event.get("text"):
            return
        self._streamed = True
        text: str = event["text"]
        self._open_line = not text.endswith("\n")
        if event["stream"] == "stderr":
            self._to_err(text, droppable=True)
        else:
            self._to_out(text, droppable=True)

    def finish(self, outcome: CallOutcome) -> None:
        ran_well = outcome.status in ("success", "skipped")
        raw = outcome.result.raw_result
        drawn = None if raw is None else raw.to_dict()
        if ran_well and not self._streamed:
            self._to_out(_line(outcome.text))
            if goes_on(drawn):
                self._to_err(_ENDS_HERE)
            return
        if self._open_line:
            self._to_err("\n" if self._safe_err else "")
        for line in beside_output(drawn) if self._streamed else ():
            self._to_err(_line(line))
        if goes_on(drawn):
            self._to_err(_ENDS_HERE)
        if not ran_well:
            self._to_err(_line(self._failure(outcome)))
        if outcome.artifact_id:
            self._to_err(f"(the whole output is artifact {outcome.artifact_id})\n")
        if self._out.dropped:
            self._to_err(f"({self._out.dropped} bytes of live output were skipped)\n")

    def _failure(self, outcome: CallOutcome) -> str:
        message = outcome.result.error or outcome.text
        if self._streamed:
            return f"{outcome.status}: {message}"
        details = outcome.text
        head = f"{outcome.status}: {message}"
        return head if details in ("", message) or message in details else f"{head}\n{details}"

    def _to_out(self, text: str, *, droppable: bool = False) -> None:
        self._put(self._out, text, safe=self._safe_out, droppable=droppable)

    def _to_err(self, text: str, *, droppable: bool = False) -> None:
        self._put(self._err, text, safe=self._safe_err, droppable=droppable)

    @staticmethod
    def _put(writer: Writer, text: str, *, safe: bool, droppable: bool) -> None:
        shown = harmless(text) if safe else text
        writer.put(shown.encode("utf-8", "replace"), droppable=droppable)


def _line(text: str) -> str:
    return text if text.endswith("\n") else text + "\n"
