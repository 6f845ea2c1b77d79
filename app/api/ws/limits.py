"""Rate limit and deduplication of commands on one connection."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import orjson

from app.api.idempotency import IdempotencyKeys, Key, owner_of
from app.core.errors import Conflict
from app.core.token_bucket import TokenBucket
from app.db.writer import DatabaseWriter

if TYPE_CHECKING:
    from app.api.principal import Principal
    from app.api.ws.commands import ClientCommand

_ANSWERED = 1
# The response to these commands is sent after their writes are stored.
_STORED = frozenset({"user_message", "tool_call", "question_response"})


class CommandRate:
    """Rate limit for commands: bursts of `burst`, then `rate` per second."""

    def __init__(self, rate: float, burst: int) -> None:
        self._bucket = TokenBucket(burst, rate, time.monotonic())

    def spend(self) -> None:
        """Count one command.

        Raises:
            RateLimited: the limit is exceeded; `retry_after_ms` is the time to wait.
        """
        self._bucket.spend(time.monotonic(), "Too many commands; slow down")


Result = dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Running:
    content: str
    answer: asyncio.Task[Result]


class Remembered:
    """Acknowledged commands of the last ten minutes, by token; a repeat gets the same response.

    A repeat of a command in progress waits for its result. The same ID with different content is
    an error of the client, such as a counter that was reset, and is refused.

    A response is stored in the same commit as the writes of its command: after a restart, the
    database has both or neither.
    """

    def __init__(self, keys: IdempotencyKeys, db: DatabaseWriter) -> None:
        self._keys = keys
        self._db = db
        self._running: dict[Key, _Running] = {}

    async def once(
        self,
        principal: Principal,
        command: ClientCommand,
        work: Callable[[], Coroutine[Any, Any, Result | None]],
    ) -> tuple[Result, bool]:
        """Run a command, or return its first response with True if it is a repeat.

        Raises:
            Conflict: the ID was used for another command.
            StorageUnavailable: earlier commands cannot be read at the moment.
        """
        await self._keys.load()
        key, content = Key("ws", owner_of(principal), command.id), _content(command)
        running, kept = self._running.get(key), self._keys.get(key)
        known = running or kept
        if known is not None and known.content != content:
            raise Conflict(
                f"The ID {command.id!r} was used for another command within ten "
                "minutes; use a new ID for each command",
                field="id",
            )
        if running is not None:
            return dict(await asyncio.shield(running.answer)), True
        if kept is not None:
            data: Result = orjson.loads(kept.answer or b"{}")
            return data, True
        answer = self._begin(key, content, work(), waits=command.type in _STORED)
        return await asyncio.shield(answer), False

    def _begin(
        self, key: Key, content: str, work: Coroutine[Any, Any, Result | None], *, waits: bool
    ) -> asyncio.Task[Result]:
        """Run a new command in a task that outlives its connection.

        A client that lost its connection sends the command again with the same ID, which must not
        run it a second time. A refused command is not stored and may be sent again.
        """

        async def carry_out() -> Result:
            try:
                answer = await work or {}
                # No await may come between the writes of the command and this one.
                data = orjson.dumps(answer)
                self._keys.keep(key, content, _ANSWERED, data, whole=True)
                if waits:
                    await self._db.flush_with_retry()
                return answer
            finally:
                del self._running[key]

        answer = asyncio.create_task(carry_out())
        # The connection reports the error; if it is closed, retrieve the error here.
        answer.add_done_callback(_retrieve)
        self._running[key] = _Running(content, answer)
        return answer


def _retrieve(answer: asyncio.Task[Result]) -> None:
    if not answer.cancelled():
        answer.exception()


def _content(command: ClientCommand) -> str:
    return sha256(command.model_dump_json().encode()).hexdigest()
