"""What the shells of sessions keep from one call to the next."""

from __future__ import annotations

from collections import OrderedDict

from app.tools.shell.ports import ShellState

MAX_KEPT = 1000
_NOTHING = ShellState()


class SessionShells:
    """`ShellStates` in memory: the least recently used go when there are too many."""

    def __init__(self, max_kept: int = MAX_KEPT) -> None:
        self._states: OrderedDict[tuple[str, str | None], ShellState] = OrderedDict()
        self._max_kept = max_kept

    def get(self, session_id: str | None, project_id: str | None) -> ShellState:
        if session_id is None or (session_id, project_id) not in self._states:
            return _NOTHING
        self._states.move_to_end((session_id, project_id))
        return self._states[session_id, project_id]

    def put(self, session_id: str | None, project_id: str | None, state: ShellState) -> None:
        if session_id is None:
            return
        self._states[session_id, project_id] = state
        self._states.move_to_end((session_id, project_id))
        while len(self._states) > self._max_kept:
            self._states.popitem(last=False)
