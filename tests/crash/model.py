"""A model whose every call leaves a mark of its own: what runs twice is seen twice."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import count

from tests.support.scripted_anthropic.server import Received
from tests.support.scripted_anthropic.turns import Turn, text, tool_use

Model = Callable[[Received], Turn]

TURNS = 6
LAST_WORDS = "Everything is done."
HEARD = "Both have answered."
GOALS = ("Count the apples.", "Count the pears.")

_KEPT = re.compile(r"in batch (dlg_\w+)")


class MarkingModel:
    """Calls tools in six turns, whatever becomes of them, and then ends.

    It knows nothing but the conversation: asked again, it answers with new marks. So a mark
    stands for one call that it asked for, and that may run once.

    Args:
        asked: told of each request before it is answered.
    """

    def __init__(self, asked: Callable[[], None]) -> None:
        self._asked = asked
        self._numbers = count(1)

    def __call__(self, received: Received) -> Turn:
        self._asked()
        turn = sum(
            block["type"] == "tool_use" and block["id"].endswith("-a")
            for message in received.messages
            if message["role"] == "assistant"
            for block in message["content"]
        )
        if turn >= TURNS:
            return Turn(text(LAST_WORDS))
        number = next(self._numbers)
        calls = [
            tool_use("bash", {"command": f"echo m{number}-{name} >> log"}, id=f"m{number}-{name}")
            # One call alone, two at once, and reads beside them.
            for name in ("a", "b")[: 1 + turn % 2]
        ]
        read = tool_use("calculator", {"expression": f"{number}+1"}, id=f"m{number}-read")
        return Turn(text(f"Step {turn + 1} of {TURNS} comes now."), *calls, read)


class DelegatingModel:
    """Lets two sub-agents work, and each of them calls tools in six turns.

    Args:
        asked: told of each request before it is answered.
        background: whether it answers at once; else it does with what they have answered.
    """

    def __init__(self, asked: Callable[[], None], *, background: bool = True) -> None:
        self._asked = asked
        self._background = background
        self._works = MarkingModel(asked)
        self._numbers = count(1)

    def __call__(self, received: Received) -> Turn:
        words = received.messages[0]["content"][0]["text"]
        if words.startswith(GOALS):
            return self._works(received)
        self._asked()
        if self._background and len(received.messages) > 1:
            return Turn(text("They are at work."))
        heard = str(received.messages)
        if not self._background and heard.count(LAST_WORDS) == len(GOALS):
            return Turn(text(HEARD))
        number = next(self._numbers)
        if kept := _KEPT.search(heard):
            asking = {"id": kept[1], "wait_s": 60}
            return Turn(tool_use("delegate_status", asking, id=f"s{number}"))
        tasks = [{"goal": goal} for goal in GOALS]
        arguments = {"tasks": tasks, "background": self._background}
        return Turn(tool_use("delegate_parallel", arguments, id=f"d{number}"))
