"""Answering what a call asks: by --yes, by a person at the terminal, or with no."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from app.cli.asking import NO, YES, confirmation_lines, option_of
from app.cli.questions import DECLINE, Form
from app.cli.terminal import can_ask, forget_typed, read_line

NOBODY_TO_TELL = "there is no terminal to ask on"
NOBODY_THERE = "there is no terminal to ask on; --yes approves what asks"


@dataclass(frozen=True, slots=True)
class Answers:
    """Who answers for one call.

    Attributes:
        say: shows a text, and ends the line unless it is reported how.
        yes: approve whatever asks.
    """

    say: Callable[..., None]
    yes: bool = False

    @property
    def are_there(self) -> bool:
        """Whether what asks can be answered at all."""
        return self.yes or can_ask()

    async def confirmation(self, request: Mapping[str, Any]) -> tuple[str, str | None]:
        """The option that is chosen, and what was said with it."""
        approved, message = self.yes, None
        if not approved and can_ask():
            approved, message = await self._ask(request)
        elif not approved:
            message = NOBODY_THERE
            self.say("\n".join([*confirmation_lines(request), f"Declined: {message}"]))
        return option_of(request, "allow" if approved else "deny"), message

    async def question(self, event: Mapping[str, Any]) -> dict[str, Any] | None:
        """The answer of the person at the terminal; None when nobody answers."""
        form = Form(event)
        if not can_ask():
            self.say("\n".join([*form.lines(), f"Not answered: {NOBODY_TO_TELL}"]))
            return None
        while not form.is_complete:
            self.say("\n".join(form.lines()))
            # Before it is said how to answer: who answers at once must not be unheard.
            forget_typed()
            self.say(form.prompt(), end="")
            line = await read_line()
            if line is None or line.strip() == DECLINE:
                return None
            form.take(line)
        return form.answer

    async def _ask(self, request: Mapping[str, Any]) -> tuple[bool, str | None]:
        """Whether a person approves; what they say to a no is the reason of it."""
        self.say("\n".join(confirmation_lines(request)))
        forget_typed()
        self.say("Approve once? Type y to run it, n and why; anything else declines: ", end="")
        answer = await read_line()
        if answer is not None and answer.lower() in YES:
            return True, None
        word, _, why = (answer or "").partition(" ")
        return False, why.strip() or None if word.lower() in NO else None
