"""Functions assessed with the words of their calls.

A function that uses its arguments is determined by its callers: `run() { "$@"; }` is `ls` when
called as `run ls`. Such a body waits for its calls. It is assessed alone, with unknown arguments,
if not all of them are certain: no call was found, a call's words are not all known, the name is
defined twice, or text for another process mentions it.
"""

from __future__ import annotations

from dataclasses import dataclass

from app.policy.risk.model import Given
from app.policy.risk.scope import ShellScope
from app.policy.risk.syntax import Function, Node

CALLED_BY_SHELLS = frozenset(["command_not_found_handle", "command_not_found_handler"])
"""Functions that a shell calls with its own words."""


@dataclass(slots=True)
class Waiting:
    """Function not yet determined by a call, with the state at its definition.

    Attributes:
        origins: files that define it.
    """

    node: Function
    scope: ShellScope
    contained: bool
    origins: tuple[Given, ...] = ()
    is_called: bool = False
    is_doubtful: bool = False


class Definitions:
    """Functions of one assessment, including those of nested shells."""

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
        """Return whether `node`, defined here, waits for its calls."""
        if id(node.body) in self._waiting:
            return True
        first = self._bodies.setdefault(node.name, node.body)
        if first is not node.body:
            # It is not tracked which of the two a call means.
            self.doubt(first)
            return False
        if not node.reads_arguments or node.name in CALLED_BY_SHELLS:
            return False
        self._waiting[id(node.body)] = Waiting(node, scope, contained, origins)
        return True

    def called(self, body: Node, *, certain: bool) -> bool:
        """Record a call; return whether its words alone determine `body`."""
        waiting = self._waiting.get(id(body))
        if waiting is None:
            return False
        if certain:
            waiting.is_called = True
        else:
            waiting.is_doubtful = True
        return certain

    def doubt(self, body: Node) -> None:
        """Record a call of `body` with unknown words."""
        self.called(body, certain=False)

    def mentioned(self, text: str) -> None:
        """Record `text` run by another process, to which functions may have been exported."""
        for waiting in self._waiting.values():
            if waiting.node.name in text:
                waiting.is_doubtful = True

    def holds(self, name: str) -> bool:
        """Return whether a function with the name was found."""
        return name in self._bodies

    def called_outside(self, name: str) -> None:
        """Record that another process runs `name`: a function and all it calls may have been
        exported.
        """
        if name in self._bodies:
            for waiting in self._waiting.values():
                waiting.is_doubtful = True

    def left(self) -> list[Waiting]:
        """Return functions to assess alone, each once."""
        every, self._waiting = self._waiting, {}
        return [one for one in every.values() if one.is_doubtful or not one.is_called]
