"""Functions that are judged with the words of their calls.

What a function does that reads its arguments is decided by its callers: `run() { "$@"; }` is
`ls` where it is called as `run ls`. Such a body waits for its calls. It is judged alone, with
arguments that nobody knows, when not all of them are certain: no call was met, a call's words
are not all known, the name is defined twice, or text for another process speaks of it.
"""

from __future__ import annotations

from dataclasses import dataclass

from app.policy.risk.model import Given
from app.policy.risk.scope import ShellScope
from app.policy.risk.syntax import Function, Node

CALLED_BY_SHELLS = frozenset(["command_not_found_handle", "command_not_found_handler"])
"""Functions that a shell calls with words of its own."""


@dataclass(slots=True)
class Waiting:
    """A function that no call has decided yet, and what was known where it was defined.

    Attributes:
        origins: the files that define it.
    """

    node: Function
    scope: ShellScope
    contained: bool
    origins: tuple[Given, ...] = ()
    is_called: bool = False
    is_doubtful: bool = False


class Definitions:
    """The functions of one assessment, also those of shells within shells."""

    def __init__(self) -> None:
        self._bodies: dict[str, Node] = {}
        self._waiting: dict[int, Waiting] = {}

    def waits(
        self,
        node: Function,
        scope: ShellScope,
        *,
        contained: bool,
        origins: tuple[Given, ...] = (),
    ) -> bool:
        """Whether `node`, which is defined here, is left to its calls."""
        if id(node.body) in self._waiting:
            return True
        first = self._bodies.setdefault(node.name, node.body)
        if first is not node.body:
            # Which of the two a call means is not followed.
            self.doubt(first)
            return False
        if not node.reads_arguments or node.name in CALLED_BY_SHELLS:
            return False
        self._waiting[id(node.body)] = Waiting(node, scope, contained, origins)
        return True

    def called(self, body: Node, *, certain: bool) -> bool:
        """Note a call; whether its words alone decide what `body` does."""
        waiting = self._waiting.get(id(body))
        if waiting is None:
            return False
        if certain:
            waiting.is_called = True
        else:
            waiting.is_doubtful = True
        return certain

    def doubt(self, body: Node) -> None:
        """`body` is called with words that are not followed."""
        self.called(body, certain=False)

    def mentioned(self, text: str) -> None:
        """`text` runs in another process, to which functions may have been exported."""
        for waiting in self._waiting.values():
            if waiting.node.name in text:
                waiting.is_doubtful = True

    def holds(self, name: str) -> bool:
        """Whether a function of this name was met."""
        return name in self._bodies

    def called_outside(self, name: str) -> None:
        """Another process runs `name`: when that is a function, this and all that it calls may
        have been exported."""
        if name in self._bodies:
            for waiting in self._waiting.values():
                waiting.is_doubtful = True

    def left(self) -> list[Waiting]:
        """Those that have to be judged alone, each of them once."""
        every, self._waiting = self._waiting, {}
        return [one for one in every.values() if one.is_doubtful or not one.is_called]
