"""How fast one connection may send commands, and which it has sent before."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from app.core.errors import Conflict, RateLimited

if TYPE_CHECKING:
    from app.api.ws.commands import Command

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


Result = dict[str, Any]


@dataclass(slots=True)
class _Sent:
    content: int
    expires: float
    answer: asyncio.Future[Result]


class Remembered:
    """Acknowledged commands of the last ten minutes, per user: a repeat gets the same answer.

    A command that is still being carried out is waited for, not carried out twice. The
    same id with another content is a mistake (a counter that began anew), and is told so.
    """

    def __init__(self) -> None:
        self._sent: OrderedDict[tuple[str, str], _Sent] = OrderedDict()

    def known(self, user_id: str, command: Command) -> asyncio.Future[Result] | None:
        """The answer, or the promise of one; None for a new command.

        Raises:
            Conflict: the id was used for another command.
        """
        self._forget_old()
        sent = self._sent.get((user_id, command.id))
        if sent is None:
            return None
        if sent.content != _content(command):
            raise Conflict(
                f"The id {command.id!r} was used for another command within ten minutes;"
                " give each command an id of its own",
                field="id",
            )
        return sent.answer

    def begin(
        self, user_id: str, command: Command, work: Coroutine[Any, Any, Result | None]
    ) -> asyncio.Future[Result]:
        """Carry out a new command in a task that outlives its connection.

        A client that lost its socket in the middle sends the command again under the same
        id: it must find the first one, not start a second. A refused command is forgotten
        and may be sent again.
        """
        expires = time.monotonic() + REMEMBER_S
        key = (user_id, command.id)

        async def carry_out() -> Result:
            try:
                return await work or {}
            except BaseException:
                self._sent.pop(key, None)
                raise

        answer = asyncio.create_task(carry_out())
        # Its error is the connection's to tell; without one there is nobody to tell.
        answer.add_done_callback(_retrieve)
        self._sent[key] = _Sent(_content(command), expires, answer)
        return answer

    def _forget_old(self) -> None:
        now = time.monotonic()
        while self._sent:
            oldest = next(iter(self._sent.values()))
            if oldest.expires > now and len(self._sent) <= MAX_REMEMBERED:
                return
            self._sent.popitem(last=False)


def _retrieve(answer: asyncio.Future[Result]) -> None:
    if not answer.cancelled():
        answer.exception()


def _content(command: Command) -> int:
    return hash(command.model_dump_json())
