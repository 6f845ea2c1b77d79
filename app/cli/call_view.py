"""Views of a running `tollgate call`: raw events or live output."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import orjson

from app.cli.descriptor_writer import DescriptorWriter
from app.cli.result_view import Streamed, beside_output, goes_on
from app.cli.terminal import harmless

_ENDS_HERE = "(it stops with this command; under `tollgate serve` it would keep running)\n"


@dataclass(frozen=True, slots=True)
class PrintedResult:
    """Result of a call, from its last event.

    Attributes:
        text: Output for the model.
        drawn: Structured output for a renderer.
    """

    status: str
    text: str
    error: str | None = None
    code: str | None = None
    drawn: Mapping[str, Any] | None = None
    artifact_id: str | None = None
    truncated: bool = False

    @property
    def is_unattended(self) -> bool:
        """Return whether the call did not run because nobody could confirm it."""
        return self.status == "denied" and self.code == "unattended"

    @classmethod
    def of(cls, event: Mapping[str, Any]) -> PrintedResult:
        """Create the result from a `tool_call_completed`."""
        error = event.get("error") or {}
        return cls(
            event["status"],
            "\n".join(str(block.get("text", "")) for block in event["content"]),
            error.get("message"),
            error.get("code"),
            event.get("raw_result"),
            event.get("artifact_id"),
            bool(event.get("truncated")),
        )


class View(Protocol):
    """Shows the events of one session."""

    def show(self, body: bytes, *, live: bool) -> None:
        """Show one event; events arrive in order, live output may have gaps."""

    def finish(self, ending: PrintedResult) -> None:
        """Show the result of the call."""


class EventLines:
    """Prints each event as one JSON line, byte for byte as on the WebSocket."""

    def __init__(self, out: DescriptorWriter) -> None:
        self._out = out

    def show(self, body: bytes, *, live: bool) -> None:
        self._out.put(body + b"\n", droppable=live)

    def finish(self, ending: PrintedResult) -> None:
        """Do nothing: `tool_call_completed` has already been printed."""


class LiveText:
    """Prints the tool's live output, then its result.

    Streamed output is not repeated. The rest of the result (exit code, error, artifact of the full
    output) goes to standard error, so standard output holds exactly what the tool printed.

    Args:
        safe: Remove control sequences for a terminal.
        ends_here: Background processes stop with this process.
    """

    def __init__(
        self,
        out: DescriptorWriter,
        err: DescriptorWriter,
        *,
        safe_out: bool,
        safe_err: bool,
        ends_here: bool = True,
    ) -> None:
        self._out = out
        self._err = err
        self._safe_out = safe_out
        self._safe_err = safe_err
        self._ends_here = ends_here
        self._streamed = Streamed()
        self._open_line = False

    def show(self, body: bytes, *, live: bool) -> None:
        if not live:
            return
        event: dict[str, Any] = orjson.loads(body)
        if event["type"] != "tool_result_streamed" or not event.get("text"):
            return
        text: str = event["text"]
        self._streamed.add(text)
        self._open_line = not text.endswith("\n")
        if event["stream"] == "stderr":
            self._to_err(text, droppable=True)
        else:
            self._to_out(text, droppable=True)

    def finish(self, ending: PrintedResult) -> None:
        ran_well = ending.status in ("success", "skipped")
        if ran_well and self._streamed.is_empty:
            self._to_out(_line(ending.text))
            self._tell_background(ending)
            return
        self._end_line(ending, ran_well=ran_well)
        if not self._streamed.is_empty:
            for line in beside_output(ending.drawn):
                self._to_err(_line(line))
        self._tell_background(ending)
        if not ran_well:
            self._to_err(_line(self._failure(ending)))
        if ending.artifact_id:
            self._to_err(f"(full output: artifact {ending.artifact_id})\n")
        if self._out.dropped:
            self._to_err(f"({self._out.dropped} bytes of live output were skipped)\n")

    def _end_line(self, ending: PrintedResult, *, ran_well: bool) -> None:
        """End a line of live output, and show a result that the output does not contain."""
        streamed = self._streamed
        result = ""
        if ran_well:
            result = streamed.beyond(ending.text, ending.drawn, is_cut=ending.truncated)
        if result:
            self._to_out(("\n" if self._open_line else "") + _line(result))
        elif self._open_line and self._safe_err:
            self._to_err("\n")

    def _tell_background(self, ending: PrintedResult) -> None:
        if self._ends_here and goes_on(ending.drawn):
            self._to_err(_ENDS_HERE)

    def _failure(self, ending: PrintedResult) -> str:
        message = ending.error or ending.text
        if not self._streamed.is_empty:
            return f"{ending.status}: {message}"
        head = f"{ending.status}: {message}"
        details = ending.text
        return head if details in ("", message) or message in details else f"{head}\n{details}"

    def _to_out(self, text: str, *, droppable: bool = False) -> None:
        self._put(self._out, text, safe=self._safe_out, droppable=droppable)

    def _to_err(self, text: str, *, droppable: bool = False) -> None:
        self._put(self._err, text, safe=self._safe_err, droppable=droppable)

    @staticmethod
    def _put(writer: DescriptorWriter, text: str, *, safe: bool, droppable: bool) -> None:
        shown = harmless(text) if safe else text
        writer.put(shown.encode("utf-8", "replace"), droppable=droppable)


def _line(text: str) -> str:
    return text if text.endswith("\n") else text + "\n"
