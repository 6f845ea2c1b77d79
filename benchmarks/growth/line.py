"""Kinds of measured lines: one request, repeated on installations of several sizes."""

from __future__ import annotations

import asyncio
import json
import statistics
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from benchmarks.growth.content import note_arguments
from benchmarks.growth.server import Place, serve
from benchmarks.growth.tools import NOTE
from benchmarks.served import PATIENCE_S

# So that work after the last answer is counted as well.
SETTLE_S = 0.02
FLAT_RATIO = 1.5
"""Allowed ratio of flat lines: B-trees get deeper, and CPU time varies by a tenth or two."""

PathOf = Callable[[Place], str]


class Dimension(StrEnum):
    """What the sizes of an installation count."""

    SESSIONS = "sessions"
    RULES = "rules"
    AGENTS = "agents"
    TOOLS = "tools"
    EVENTS = "events"


class Growth(StrEnum):
    """Expected cost of a line.

    `LINEAR` lines return or process everything that they are asked for, so their cost may grow as
    the size does.
    """

    FLAT = "flat"
    LINEAR = "linear"


@dataclass(frozen=True, slots=True)
class Sample:
    """Cost of consecutive requests.

    Attributes:
        cpu_s: CPU seconds of the service per request.
        walls_s: seconds until each answer.
    """

    cpu_s: float
    walls_s: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class Line:
    """One request, and how its cost may grow.

    Attributes:
        flat_ratio: allowed ratio of a flat line.
        most: maximum number of requests in a sample.
        fills: sizes of 0 return less than a page, so growth counts from the next size.
        is_running: whether the service runs during a sample.
    """

    name: str
    about: str
    along: Dimension = Dimension.SESSIONS
    expects: Growth = Growth.FLAT
    flat_ratio: float = FLAT_RATIO
    most: int = 20
    fills: bool = False
    is_running: bool = True

    def allowed(self, sizes: tuple[int, ...]) -> float:
        """Return the maximum ratio between the largest and the smallest of `sizes`."""
        if self.expects is Growth.FLAT:
            return self.flat_ratio
        return max(FLAT_RATIO, sizes[-1] / sizes[0])

    async def prepare(self, place: Place) -> Any:
        """Return what the requests of one place share."""

    async def ask(self, place: Place, shared: Any) -> Any:
        """Send the request; return what `undo` needs.

        Raises:
            RuntimeError: the answer is an error.
        """
        raise NotImplementedError

    async def undo(self, place: Place, answers: list[Any]) -> None:
        """Remove what the requests created, so that the size stays the same."""

    async def finish(self, shared: Any) -> None:
        """Release what `prepare` returned."""

    async def sample(self, place: Place, shared: Any, count: int) -> Sample:
        """Measure `count` requests in a row."""
        answers, walls = [], []
        before = place.running.cpu()
        for _ in range(count):
            began = time.perf_counter()
            answers.append(await self.ask(place, shared))
            walls.append(time.perf_counter() - began)
        await asyncio.sleep(SETTLE_S)
        cpu = place.running.cpu() - before
        await self.undo(place, answers)
        return Sample(cpu / count, tuple(walls))


@dataclass(frozen=True, kw_only=True)
class PageLine(Line):
    """GET of a page or an item; the answer must contain `part`."""

    path: PathOf
    as_user: bool = False
    part: bytes = b""

    async def ask(self, place: Place, shared: Any) -> None:
        path = self.path(place)
        answer = place.running.request("GET", path, as_user=self.as_user)
        if self.part not in answer:
            raise RuntimeError(f"GET {path} answered {answer[:300]!r}")


@dataclass(frozen=True, kw_only=True)
class PostLine(Line):
    """POST that changes nothing."""

    path: str
    body: Any = None

    async def ask(self, place: Place, shared: Any) -> None:
        place.running.request("POST", self.path, self.body)


@dataclass(frozen=True, kw_only=True)
class CreateLine(Line):
    """POST that creates an item, which is deleted after the sample."""

    path: str
    body: Callable[[int], Any]
    most: int = 5

    async def ask(self, place: Place, shared: Any) -> str:
        answer = place.running.request("POST", self.path, self.body(next(place.numbers)))
        made = json.loads(answer)
        return str(made.get("profile", made)["id"])

    async def undo(self, place: Place, answers: list[Any]) -> None:
        for item in answers:
            place.running.request("DELETE", f"{self.path}/{item}")


@dataclass(frozen=True, kw_only=True)
class CallLine(Line):
    """Tool call, each in a session of its own or all in one."""

    in_session: bool = False
    most: int = 50

    async def prepare(self, place: Place) -> str | None:
        if not self.in_session:
            return None
        return str(json.loads(place.running.request("POST", "/sessions", {}))["id"])

    async def ask(self, place: Place, shared: Any) -> None:
        body = {"arguments": note_arguments(next(place.numbers))}
        if shared is not None:
            body["session_id"] = shared
        answer = place.running.request("POST", f"/tools/{NOTE.name}/call", body)
        if b'"status":"success"' not in answer:
            raise RuntimeError(f"a call answered {answer[:300]!r}")


@dataclass(frozen=True, kw_only=True)
class SubscribeLine(Line):
    """Subscription to a long session at its end, and its cancellation, on one WebSocket."""

    async def prepare(self, place: Place) -> Any:
        return await place.running.socket()

    async def ask(self, place: Place, shared: Any) -> None:
        session_id, head = place.contents.longest
        number = next(place.numbers)
        about = {"v": 1, "session_id": session_id}
        commands = (
            {"type": "subscribe", "id": f"s{number}", "after": head, **about},
            {"type": "unsubscribe", "id": f"u{number}", **about},
        )
        for command, wanted in zip(commands, (b'"subscribed"', b'"ack"'), strict=True):
            async with asyncio.timeout(PATIENCE_S):
                answer = await shared.ask(json.dumps(command).encode())
            if wanted not in answer:
                raise RuntimeError(f"{command['type']} answered {answer!r}")

    async def finish(self, shared: Any) -> None:
        shared.close()


@dataclass(frozen=True, kw_only=True)
class StartLine(Line):
    """Start of the service until it is ready."""

    is_running: bool = False

    async def sample(self, place: Place, shared: Any, count: int) -> Sample:
        cpus, walls = [], []
        for _ in range(count):
            began = time.perf_counter()
            async with AsyncExitStack() as stack:
                service = await stack.enter_async_context(serve(place.folder, place.contents))
                walls.append(time.perf_counter() - began)
                cpus.append(service.cpu())
        return Sample(statistics.median(cpus), tuple(walls))
