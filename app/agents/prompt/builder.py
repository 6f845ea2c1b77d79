"""Prompt of a model request, in an order that providers can cache.

First the part shared by all sessions of an agent, then the session's own part, then, after the last
message, the part that changes with every request.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from app.agents.context.estimate import text_tokens
from app.agents.prompt.facts import NO_FACTS, Facts
from app.resolver.resolver import ResolvedToolset
from app.toolkit.ports import SEARCH_TOOLS

READ_SKILL = "read_skill"
IDENTITY = (
    "You are an assistant that uses tools through Tollgate. Some calls require confirmation by a "
    "person: if a call is declined, respect that and do not try to reach the same goal another "
    "way. A call that is denied by policy will not succeed when repeated. Use tools only where "
    "they help; make independent calls in parallel."
)
_REMINDER = (
    "<reminder>\nTollgate adds this to each request; the user did not write it.\n\n{}\n</reminder>"
)
# Included text must not be able to close the reminder.
_ENDS = re.compile(r"<\W{0,4}reminder\W{0,4}>", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PromptPart:
    """Part of the prompt."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """All parts in order.

    Attributes:
        shared: part shared by all sessions of the agent.
        own: part of the session's workspace.
        changing: part that may differ in each request.
    """

    shared: tuple[PromptPart, ...]
    own: tuple[PromptPart, ...] = ()
    changing: tuple[PromptPart, ...] = ()

    @property
    def shared_system(self) -> str:
        """Return the beginning of `system` shared by other sessions."""
        return _joined(self.shared)

    @property
    def system(self) -> str:
        """Return the system prompt."""
        return _joined((*self.shared, *self.own))

    @property
    def reminder(self) -> dict[str, Any] | None:
        """Return a block for the end of the last user message, which is never stored."""
        if not self.changing:
            return None
        text = _REMINDER.format(_ENDS.sub("[mark removed]", _joined(self.changing)))
        return {"type": "text", "text": text, "reminder": True}

    @property
    def tokens(self) -> int:
        """Return the estimated tokens of all parts."""
        reminder = self.reminder
        return text_tokens(self.system) + (text_tokens(reminder["text"]) if reminder else 0)

    def described(self) -> list[dict[str, Any]]:
        """Return each part with its position and estimated tokens, for people."""
        places = (("shared", self.shared), ("session", self.own), ("request", self.changing))
        return [
            {"name": part.name, "place": place, "tokens": text_tokens(part.text), "text": part.text}
            for place, parts in places
            for part in parts
        ]


def build_prompt(
    toolset: ResolvedToolset,
    facts: Facts = NO_FACTS,
    *,
    found: Iterable[str] = (),
    without: Collection[str] = (),
) -> Prompt:
    """Build the prompt of an agent.

    Args:
        facts: facts of the session; missing ones are omitted.
        found: tools found by the run with `search_tools`.
        without: names of parts to omit.
    """
    agent = toolset.agent
    shared = (
        PromptPart("identity", IDENTITY),
        PromptPart("agent", (agent and agent.system_prompt) or ""),
        PromptPart("hints", _hints(toolset, found)),
        PromptPart("skills", facts.skills if READ_SKILL in toolset.tool_names else ""),
        PromptPart("search", _more(toolset, found)),
    )
    own = (
        PromptPart("workspace", _workspace(facts.root)),
        PromptPart("instructions", facts.instructions),
    )
    changing = (
        PromptPart("listing", facts.listing),
        PromptPart("memory", facts.memory),
        PromptPart("todo", facts.todo),
        PromptPart("date", facts.date),
    )
    return Prompt(*(_kept(parts, without) for parts in (shared, own, changing)))


def _kept(parts: Iterable[PromptPart], without: Collection[str]) -> tuple[PromptPart, ...]:
    return tuple(part for part in parts if part.text and part.name not in without)


def _joined(parts: Iterable[PromptPart]) -> str:
    return "\n\n".join(part.text for part in parts)


def _hints(toolset: ResolvedToolset, found: Iterable[str]) -> str:
    exposure = toolset.exposure
    shown = {*exposure.visible, *found}
    hints = [
        f"- {exposure.definitions[name]['name']}: {hint}"
        for name, hint in toolset.prompt_hints.items()
        if name in shown
    ]
    return "Notes on the tools:\n" + "\n".join(hints) if hints else ""


def _more(toolset: ResolvedToolset, found: Iterable[str]) -> str:
    hidden = len(set(toolset.exposure.deferred).difference(found))
    if not hidden:
        return ""
    return (
        f"More tools ({hidden}) are not listed: if none of yours fits, call {SEARCH_TOOLS} "
        "before you say that something cannot be done."
    )


def _workspace(root: str | None) -> str:
    if root is None:
        return ""
    return (
        f"The workspace is {root}; file paths are relative to it, and file tools cannot access "
        "anything outside it."
    )
