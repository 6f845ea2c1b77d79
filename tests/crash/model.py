"""A model whose every call leaves a mark of its own: what runs twice is seen twice."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

from tests.support.scripted_anthropic.server import Received
from tests.support.scripted_anthropic.turns import Turn, text, tool_use

Model = Callable[[Received], Turn]

TURNS = 6
LAST_WORDS = "Everything is done."
GOALS = ("Count the apples.", "Count the pears.")


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
    """Lets two sub-agents work in the background, and each of them calls tools in six turns.

    Args:
        asked: told of each request before it is answered.
    """

    def __init__(self, asked: Callable[[], None]) -> None:
        self._asked = asked
        self._works = MarkingModel(asked)

    def __call__(self, received: Received) -> Turn:
        words = received.messages[0]["content"][0]["text"]
        if words.startswith(GOALS):
            return self._works(received)
        self._asked()
        if len(received.messages) > 1:
            return Turn(text("They are at work."))
        arguments = {"tasks": [{"goal": goal} for goal in GOALS], "background": True}
        return Turn(tool_use("delegate_parallel", arguments, id="d1"))
