"""Terminal form for questions of tools, answered by number or in the user's own words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.core.escaping import visible

DECLINE = "/decline"
HOW_TO_TELL = f"number, or your own words; {DECLINE} to skip: "
HOW_TO_TELL_MANY = f"numbers separated by commas, or your own words; {DECLINE} to skip: "


class Form:
    """Questions of one `question_asked`, with the answers so far."""

    def __init__(self, event: Mapping[str, Any]) -> None:
        self.event = event
        self._questions: list[Mapping[str, Any]] = list(event["questions"])
        self._answers: dict[str, Any] = {}

    @property
    def is_complete(self) -> bool:
        return len(self._answers) == len(self._questions)

    @property
    def answer(self) -> dict[str, Any]:
        """Return the complete answer to send."""
        if len(self._questions) == 1:
            (only,) = self._answers.values()
            return dict(only)
        return self._answers

    def lines(self) -> list[str]:
        """Return the next question with its numbered choices."""
        question = self._next
        lines = [f"? {visible(str(question['question']))}"]
        for number, choice in enumerate(question["choices"], 1):
            line = f"  {number}) {visible(str(choice['label']))}"
            if choice.get("description"):
                line += f" - {visible(str(choice['description']))}"
            lines.append(line)
        return lines

    def prompt(self) -> str:
        return HOW_TO_TELL_MANY if self._next["multi_select"] else HOW_TO_TELL

    def take(self, line: str) -> bool:
        """Use a line as the answer to the next question; return False if it is empty."""
        text, question = line.strip(), self._next
        if not text:
            return False
        chosen = _chosen(question, text)
        self._answers[question["id"]] = {"text": text} if chosen is None else {"choices": chosen}
        return True

    @property
    def _next(self) -> Mapping[str, Any]:
        return self._questions[len(self._answers)]


def _chosen(question: Mapping[str, Any], text: str) -> list[str] | None:
    """Return the IDs of the numbered choices, or None for free text."""
    words = text.split(",") if question["multi_select"] else [text]
    ids = [choice["id"] for choice in question["choices"]]
    chosen = []
    for word in words:
        number = word.strip()
        if not (number.isascii() and number.isdigit() and 1 <= int(number) <= len(ids)):
            return None
        chosen.append(ids[int(number) - 1])
    return list(dict.fromkeys(chosen))
