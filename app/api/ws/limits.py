"""How fast one connection may send commands, and which it has sent before."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict

from app.core.errors import RateLimited

REMEMBER_S = 600.0
MAX_REMEMBERED = 10_000


class CommandRate:
    """A token bucket."""

    def __init__(self, rate: float, burst: int) -> None:
        self._rate = rate
        self._burst = float(burst)
        self._level = float(burst)
        self._at = time.monotonic()

    def spend(self) -> None:
        """Take one token.

        Raises:
            RateLimited: there is none; `retry_after_ms` says when there will be.
        """
        now = time.monotonic()
        self._level = min(self._burst, self._level + (now - self._at) * self._rate)
        self._at = now
        if self._level < 1:
            wait_ms = int((1 - self._level) / self._rate * 1000) + 1
            raise RateLimited("Too many commands; slow down", retry_after_ms=wait_ms)
        self._level -= 1


class Remembered:
    """Acknowledged commands of the last ten minutes, per user: a repeat gets the same answer.

    A command that is still being carried out is waited for, not carried out twice.
    """

    def __init__(self) -> None:
        self._answers: OrderedDict[tuple[str, str], tuple[float, asyncio.Future[dict[str, object]]]]
        self._answers = OrderedDict()

    def known(self, user_id: str, command_id: str) -> asyncio.Future[dict[str, object]] | None:
        """The answer, or the promise of one; None for a new command."""
        self._forget_old()
        item = self._answers.get((user_id, command_id))
        return item[1] if item else None

    def begin(self, user_id: str, command_id: str) -> asyncio.Future[dict[str, object]]:
        """Note a new command; resolve the future with its result, or `forget` it."""
        future: asyncio.Future[dict[str, object]] = asyncio.get_running_loop().create_future()
        self._answers[user_id, command_id] = (time.monotonic() + REMEMBER_S, future)
        return future

    def forget(self, user_id: str, command_id: str) -> None:
        """A refused command may be sent again under the same id."""
        item = self._answers.pop((user_id, command_id), None)
        if item is not None and not item[1].done():
            item[1].cancel()

    def _forget_old(self) -> None:
        now = time.monotonic()
        while self._answers:
            expires, _ = next(iter(self._answers.values()))
            if expires > now and len(self._answers) <= MAX_REMEMBERED:
                return
            self._answers.popitem(last=False)
