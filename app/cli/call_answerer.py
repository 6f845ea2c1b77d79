"""Answers to a call's confirmations: by --yes, or by a person at the terminal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from app.cli.confirmation_text import NO, YES, confirmation_lines, option_of
from app.cli.questions import DECLINE, Form
from app.cli.terminal import can_ask, forget_typed, read_line

WAITS_ELSEWHERE = "no terminal available; it waits for an answer elsewhere"
NOBODY_THERE = "no terminal available for confirmation; use --yes to approve"


class NoAnswer(Exception):
    """No person has answered at this terminal, which is not a refusal."""


@dataclass(frozen=True, slots=True)
class CallAnswerer:
    """Answers the confirmations and questions of one call.

    Attributes:
        say: Prints a text; ends the line unless another ending is passed.
        yes: Approve every confirmation.
    """

    say: Callable[..., None]
    yes: bool = False

    @property
    def are_there(self) -> bool:
        """Return whether confirmations can be answered at all."""
        return self.yes or can_ask()

    async def confirmation(self, request: Mapping[str, Any]) -> tuple[str, str | None]:
        """Return the chosen option and the comment that goes with it.

        Raises:
            NoAnswer: there is no terminal, or its input has ended.
        """
        approved, message = self.yes, None
        if not approved and can_ask():
            approved, message = await self._ask(request)
        elif not approved:
            self.say("\n".join([*confirmation_lines(request), f"({WAITS_ELSEWHERE})"]))
            raise NoAnswer
        return option_of(request, "allow" if approved else "deny"), message

    async def question(self, event: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the answer of the person at the terminal, or None if they skip the question.

        Raises:
            NoAnswer: there is no terminal, or its input has ended.
        """
        form = Form(event)
        if not can_ask():
            self.say("\n".join([*form.lines(), f"({WAITS_ELSEWHERE})"]))
            raise NoAnswer
        while not form.is_complete:
            self.say("\n".join(form.lines()))
            # Before the prompt: an immediate answer must not be lost.
            forget_typed()
            self.say(form.prompt(), end="")
            line = await read_line()
            if line is None:
                raise NoAnswer
            if line.strip() == DECLINE:
                return None
            form.take(line)
        return form.answer

    async def _ask(self, request: Mapping[str, Any]) -> tuple[bool, str | None]:
        """Return whether a person approves; text after `n` is the reason."""
        self.say("\n".join(confirmation_lines(request)))
        forget_typed()
        self.say(
            "Approve once? Type y to run it, or n and a reason; anything else declines: ", end=""
        )
        answer = await read_line()
        if answer is None:
            raise NoAnswer
        if answer.lower() in YES:
            return True, None
        word, _, why = answer.partition(" ")
        return False, why.strip() or None if word.lower() in NO else None
