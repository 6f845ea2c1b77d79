"""Notification of calls that wait for a person."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Protocol

WaitKind = Literal["confirmation", "question"]
WaitChange = Literal["reminder", "escalated", "vote"]
"""`reminder`: half or nine tenths of the time have passed; `escalated`: further people may answer;
`vote`: one of several required people has approved."""


class WaitWatcher(Protocol):
    """Notified of each wait of this process, including those that a restart continues."""

    def opened(
        self, kind: WaitKind, item_id: str, session_id: str, request: Mapping[str, Any]
    ) -> None:
        """A call waits from now on; `request` are the fields of its event, without secrets."""

    def changed(
        self, item_id: str, change: WaitChange, request: Mapping[str, Any], occurrence: int
    ) -> None:
        """The wait continues; `request` is what it is about now. Unknown items are ignored.

        Args:
            occurrence: number of the change, of those of its kind.
        """

    def closed(self, item_id: str, outcome: str, by: str | None = None) -> None:
        """The wait has ended; `by` is the user who answered. Unknown items are ignored."""


class NoWatcher:
    """Watcher of a process without people, such as a call from a terminal."""

    def opened(
        self, kind: WaitKind, item_id: str, session_id: str, request: Mapping[str, Any]
    ) -> None:
        return

    def changed(
        self, item_id: str, change: WaitChange, request: Mapping[str, Any], occurrence: int
    ) -> None:
        return

    def closed(self, item_id: str, outcome: str, by: str | None = None) -> None:
        return
