"""Text view of a session's events on a terminal: appended, never redrawn.

Live output may have gaps and may repeat after a reconnect. The view tracks what it has printed per
message and call, and the durable event that follows fills in the rest.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.text import Text

from app.cli.confirmation_text import confirmation_lines
from app.cli.questions import Form
from app.cli.result_view import Streamed, beside_output
from app.cli.terminal import harmless
from app.core.escaping import visible

Event = Mapping[str, Any]

STATUS_STYLE = {
    "success": ("✓", "green", "done"),
    "error": ("✗", "red", "failed"),
    "invalid_arguments": ("✗", "red", "invalid arguments"),
    "timeout": ("✗", "red", "timed out"),
    "disabled": ("⊘", "bright_black", "disabled"),
    "denied": ("⊘", "bold red", "denied by policy"),
    "declined": ("⊘", "yellow", "declined"),
    "expired": ("⊘", "magenta", "expired: no answer"),
    "cancelled": ("■", "cyan", "cancelled"),
    "skipped": ("↷", "bright_black", "skipped: same as another call"),
    "interrupted": ("!", "bold magenta", "interrupted: outcome unknown"),
}
BAR = "  │ "
MAX_RESULT_LINES = 40
SNAPSHOT_CHARS = 64 << 10
STREAMS = ("stdout", "stderr", "content")
SOME_SUBAGENT = "sub-agent"


@dataclass(slots=True)
class _Shown:
    """Printed part of a message, or of one stream of a call's output."""

    chunks: int = 0
    chars: int = 0
    has_hole: bool = False


def _place(owner: str, stream: str | None) -> str:
    """Return the owner of a piece of live output: a message, or one stream of a call."""
    return f"{owner} {stream}" if stream else owner


class StreamView:
    """Prints events. Only one owner writes to a line at a time."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self._owner = ""
        self._at_start = True
        self._shown: dict[str, _Shown] = {}
        self._streamed: dict[str, Streamed] = {}
        self._open_calls: set[str] = set()
        self._subagents: dict[str, str] = {}

    def event(self, event: Event) -> None:
        """Print one event; ignore unknown types."""
        show = getattr(self, f"_on_{event['type']}", None)
        if show is not None:
            show(event)

    def note(self, text: str, style: str = "bright_black") -> None:
        """Print a line about the connection or a command, outside the session."""
        self.line(text, style)

    def line(self, text: str, style: str = "") -> None:
        """Print a separate line."""
        self._write("", "", text + "\n", style)

    def prompt(self, text: str) -> None:
        """Show the prompt for input."""
        self._write("prompt", "", text, "bold")

    def typed(self) -> None:
        """Record that the user ended the line."""
        self._at_start = True

    def interrupted(self) -> None:
        """Record that the terminal printed a Ctrl-C in the middle of a line."""
        self._owner, self._at_start = "^C", False

    def _on_run_started(self, event: Event) -> None:
        if event.get("model"):
            self.line(f"— run with {event['model']}", "bright_black")

    def _on_run_finished(self, event: Event) -> None:
        status = event["status"]
        usage = event.get("usage") or {}
        tokens = usage.get("input_tokens", 0) + usage.get("output_tokens", 0)
        shown = f"— run {status}" + (f", {tokens} tokens" if tokens else "")
        if event.get("error"):
            shown += f": {visible(event['error']['message'])}"
        failed = status not in ("success", "cancelled")
        self.line(shown, "red" if failed else "bright_black")

    def _on_subagent_started(self, event: Event) -> None:
        name, task = visible(event["name"]), visible(event["task"]).split("\n")[0]
        self._subagents[event["child_run_id"]] = name
        self.line(f"▸ [{name}] {task}", "bold cyan")

    def _on_subagent_finished(self, event: Event) -> None:
        known = self._subagents.pop(event["child_run_id"], SOME_SUBAGENT)
        name = visible(event["name"]) if event.get("name") else known
        shown = f"▪ [{name}] {event['status']}, rounds: {event.get('rounds', 0)}"
        if event.get("error"):
            shown += f": {visible(event['error']['message'])}"
        self.line(shown, "cyan" if event["status"] == "success" else "red")

    def _who(self, event: Event) -> str:
        """Return the sub-agent that makes a call, as a prefix; empty for the agent itself."""
        name = self._subagents.get(event.get("run_id") or "")
        if name is None and event.get("parent_tool_call_id"):
            name = SOME_SUBAGENT
        return f"[{name}] " if name else ""

    def _on_text_delta(self, event: Event) -> None:
        # Output of sub-agents between their calls would be interleaved.
        if event.get("run_id") in self._subagents:
            return
        self._delta(event, event["message_id"], "", "")

    def _on_thinking_delta(self, event: Event) -> None:
        if event.get("run_id") in self._subagents:
            return
        self._delta(event, f"thinking {event['message_id']}", "  ", "dim italic")

    def _on_message_completed(self, event: Event) -> None:
        blocks = [block for block in event["content"] if block.get("type") == "text"]
        text = "".join(str(block.get("text", "")) for block in blocks)
        if event["role"] == "user":
            if text:
                self.line(f"you: {text}", "bold")
            return
        shown = self._shown.pop(event["message_id"], _Shown())
        self._shown.pop(f"thinking {event['message_id']}", None)
        missing = text if shown.has_hole else text[shown.chars :]
        if event["role"] == "assistant" and missing:
            if shown.has_hole:
                self.note("(some live output was lost; the full message:)")
            self._write(event["message_id"], "", missing, "")
        if not self._at_start:
            self._break()

    def _on_tool_call_started(self, event: Event) -> None:
        self._open_calls.add(event["tool_call_id"])
        self.line(f"● {self._who(event)}{visible(event['title'])}", "bold blue")

    def _on_tool_result_streamed(self, event: Event) -> None:
        style = "red" if event["stream"] == "stderr" else "bright_black"
        streamed = self._streamed.setdefault(event["tool_call_id"], Streamed())
        streamed.add(event.get("text") or "")
        self._delta(event, event["tool_call_id"], self._bar(event), style)

    def _on_process_event(self, event: Event) -> None:
        if event.get("message"):
            self._write(event["tool_call_id"], BAR, visible(event["message"]) + "\n", "dim")

    def _on_process_ended(self, event: Event) -> None:
        name, command = event["process_id"], visible(event["command"]).split("\n")[0]
        self.line(f"■ {name} ended with exit code {event['exit_code']}: {command}", "dim")

    def _on_tool_confirmation_request(self, event: Event) -> None:
        head, *rest = confirmation_lines(event)
        self.line(f"? {head}", "bold yellow")
        for line in rest:
            self.line(line, "yellow" if line.startswith("  |") else "")

    def _on_tool_confirmation_resolved(self, event: Event) -> None:
        self._answered(event)

    def _on_question_asked(self, event: Event) -> None:
        head, *choices = Form(event).lines()
        self.line(head, "bold yellow")
        for line in choices:
            self.line(line)

    def _on_question_answered(self, event: Event) -> None:
        self._answered(event)

    def _answered(self, event: Event) -> None:
        by = f" by {visible(str(event['by']))}" if event.get("by") else ""
        style = "green" if event["outcome"] in ("approved", "answered") else "yellow"
        self.line(f"  → {event['outcome']}{by}", style)

    def _on_ticket_opened(self, event: Event) -> None:
        severity, reason = event["severity"], visible(event["reason"])
        self.line(f"! ticket {event['ticket_id']} ({severity}): {reason}", "bold magenta")

    def _on_ticket_resolved(self, event: Event) -> None:
        message = f": {visible(event['answer'])}" if event.get("answer") else ""
        self.line(f"! ticket {event['ticket_id']} {event['status']}{message}", "magenta")

    def _on_tool_call_completed(self, event: Event) -> None:
        call_id, status = event["tool_call_id"], event["status"]
        for stream in STREAMS:
            self._shown.pop(_place(call_id, stream), None)
        self._rest_of_result(event, self._streamed.pop(call_id, Streamed()))
        self._open_calls.discard(call_id)
        mark, style, words = STATUS_STYLE.get(status, ("?", "", status))
        parts = [f"{mark} {self._who(event)}{visible(event['tool_name'])} {words}"]
        if status in ("success", "error", "timeout"):
            parts.append(f"{event['duration_ms'] / 1000:.2f} s")
        if event.get("cached"):
            parts.append("cached")
        if event.get("artifact_id"):
            parts.append(f"full output: {event['artifact_id']}")
        self.line("  " + ", ".join(parts), style)
        if event.get("error"):
            self.line(f"    {visible(event['error']['message'])}", style)

    def _rest_of_result(self, event: Event, streamed: Streamed) -> None:
        """Return the parts of the result that the live output lacks."""
        text = "\n".join(str(block.get("text", "")) for block in event["content"])
        raw, succeeded = event.get("raw_result"), event["status"] == "success"
        if streamed.is_empty:
            if succeeded:
                self._result(event, text)
            return
        for line in beside_output(raw):
            self._write(
                event["tool_call_id"], self._bar(event), visible(line) + "\n", "bright_black"
            )
        if succeeded:
            is_cut = bool(event.get("truncated"))
            self._result(event, streamed.beyond(text, raw, is_cut=is_cut))

    def _result(self, event: Event, text: str) -> None:
        lines = text.splitlines()
        for line in lines[:MAX_RESULT_LINES]:
            self._write(event["tool_call_id"], self._bar(event), line + "\n", "bright_black")
        if len(lines) > MAX_RESULT_LINES:
            self.line(f"{BAR}… {len(lines) - MAX_RESULT_LINES} more lines", "dim")

    def _bar(self, event: Event) -> str:
        """Return which call a line belongs to, when several run concurrently."""
        return f"  │{event['tool_call_id'][-4:]} " if len(self._open_calls) > 1 else BAR

    def _delta(self, event: Event, owner: str, prefix: str, style: str) -> None:
        """Print the new part of a piece of live output."""
        text = event.get("text") or ""
        # Chunks are numbered per stream of a call.
        shown = self._shown.setdefault(_place(owner, event.get("stream")), _Shown())
        if event["chunk_to"] <= shown.chunks:
            return
        if event.get("snapshot"):
            # A snapshot contains everything so far, unless it has the maximum size.
            text = text[shown.chars :] if len(text) < SNAPSHOT_CHARS else f"…\n{text}"
        elif event["chunk_from"] > shown.chunks:
            shown.has_hole = True
            text = f"…{text}"
        shown.chunks = event["chunk_to"]
        shown.chars += len(text)
        self._write(owner, prefix, text, style)

    def _write(self, owner: str, prefix: str, text: str, style: str) -> None:
        if owner != self._owner and not self._at_start:
            self._break()
        self._owner = owner
        shown = Text()
        for line in _plain_lines(text):
            if self._at_start and prefix:
                shown.append(prefix, "bright_black")
            shown.append_text(_coloured(line, style))
            self._at_start = line.endswith("\n")
        self.console.print(shown, end="", soft_wrap=True, highlight=False)

    def _break(self) -> None:
        self.console.print()
        self._at_start = True


def _plain_lines(text: str) -> list[str]:
    """Remove control sequences that would overwrite earlier lines."""
    safe = harmless(text.replace("\r\n", "\n").replace("\r", "\n"))
    return [line for line in re.split(r"(?<=\n)", safe) if line]


def _coloured(line: str, style: str) -> Text:
    """Print a line in its style; colours from a tool take precedence."""
    text = Text.from_ansi(line, style=style, end="") if "\x1b" in line else Text(line, style)
    if line.endswith("\n") and not text.plain.endswith("\n"):
        text.append("\n")
    return text
