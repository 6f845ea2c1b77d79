"""Texts of messages, by the content level of their channel."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from app.channels.notifications.facts import RequestFacts
from app.channels.notifications.transport import ContentLevel, NotificationEvent
from app.core.escaping import unpadded
from app.core.text import truncate

MAX_SUBJECT = 200
MAX_LINE = 300
MAX_DETAILS = 2000

_OPEN: Mapping[NotificationEvent, str] = MappingProxyType(
    {
        "opened": "{} needed",
        "reminder": "Reminder: {} needed",
        "escalated": "Escalated: {} needed",
    }
)
_WANTED = MappingProxyType({"confirmation": "approval", "question": "answer"})
_ENDS: Mapping[str, str] = MappingProxyType(
    {
        "approved": "Approved",
        "declined": "Declined",
        "answered": "Answered",
        "expired": "Expired without an answer",
        "cancelled": "Cancelled",
        "late": "Answered too late",
    }
)


class ContentWriter:
    """Writes subjects and bodies.

    Args:
        mask: masks secrets in a text.
    """

    def __init__(self, mask: Callable[[str], str]) -> None:
        self._mask = mask

    def subject(self, facts: RequestFacts, event: NotificationEvent, level: ContentLevel) -> str:
        """Return one line."""
        state = self._state(facts, event, level)
        if level == "none":
            return f"Tollgate: {state[0].lower()}{state[1:]}"
        return truncate(f"{state}: {self._line(facts.title)}", MAX_SUBJECT, "…")

    def body(self, facts: RequestFacts, event: NotificationEvent, level: ContentLevel) -> str:
        """Return lines of text; empty for the level `none`."""
        if level == "none":
            return ""
        return "\n".join(self._lines(facts, level))

    def _lines(self, facts: RequestFacts, level: ContentLevel) -> Iterator[str]:
        if facts.outcome is not None:
            yield self._end(facts)
        if facts.agent is not None:
            yield f"Agent: {self._line(facts.agent)}"
        yield f"Tool: {self._line(facts.tool_name)}"
        yield f"Request: {self._line(facts.title)}"
        if facts.risk is not None:
            yield f"Risk: {facts.risk}"
        if facts.outcome is None:
            yield f"Expires: {facts.expires_at or 'never'}"
        if level == "full" and facts.details and facts.outcome is None:
            yield ""
            yield truncate(unpadded(self._mask(facts.details)), MAX_DETAILS)

    def _state(self, facts: RequestFacts, event: NotificationEvent, level: ContentLevel) -> str:
        if facts.outcome is not None:
            return "Request ended" if level == "none" else self._end(facts)
        wanted = _WANTED[facts.kind]
        sentence = _OPEN[event if event in _OPEN else "opened"].format(wanted)
        return sentence[0].upper() + sentence[1:]

    def _end(self, facts: RequestFacts) -> str:
        outcome = facts.outcome or ""
        end = _ENDS.get(outcome, f"Ended ({self._line(outcome)})")
        return end if facts.by is None else f"{end} by {self._line(facts.by)}"

    def _line(self, text: str) -> str:
        return truncate(" ".join(unpadded(self._mask(text)).split()), MAX_LINE, "…")
