"""Saved shell state of sessions between calls."""

from __future__ import annotations

from collections import OrderedDict

from app.domain.processes import ShellState

MAX_KEPT = 1000
_NOTHING = ShellState()


class SessionShells:
    """`ShellStates` in memory; the least recently used are evicted first."""

    def __init__(self, max_kept: int = MAX_KEPT) -> None:
        self._states: OrderedDict[tuple[str, str | None], ShellState] = OrderedDict()
        self._max_kept = max_kept

    def get(self, shell_id: str | None, project_id: str | None) -> ShellState:
        if shell_id is None or (shell_id, project_id) not in self._states:
            return _NOTHING
        self._states.move_to_end((shell_id, project_id))
        return self._states[shell_id, project_id]

    def put(self, shell_id: str | None, project_id: str | None, state: ShellState) -> None:
        if shell_id is None:
            return
        self._states[shell_id, project_id] = state
        self._states.move_to_end((shell_id, project_id))
        while len(self._states) > self._max_kept:
            self._states.popitem(last=False)
