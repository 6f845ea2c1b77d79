"""A tool call through the whole gate, in process, recorded in a real database.

Look up, decide, validate, hooks, loop guard, deadline, two durable events and the call's row: all
steps of a call. `CPU` is that of the whole process, the database's writer thread included; `loop`
is the event loop's thread alone, which is what limits how many calls one service can take.

Calls come in bursts of `BURST`, with a turn of the loop in between, as in a busy service: the
writer commits while the next burst runs.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter

from app.bootstrap.container import Runtime
from app.db.statements import ADD_EVENT, Statement
from app.db.writer import DatabaseWriter
from app.events.log import Frame
from app.execution.calls import CallRequest
from benchmarks import sample_tools as samples
from benchmarks.harness import (
    Benchmark,
    Compared,
    Figures,
    Measure,
    Result,
    Scale,
    Stopwatch,
    interleave,
    run,
)
from benchmarks.runtime import bench_runtime, context, must_succeed

CALLS = 4000
BURST = 16
BATCH = 4
_ADD = TypeAdapter(samples.AddArgs).validate_json
_ORDER = TypeAdapter(samples.OrderArgs).validate_json

Floor = Callable[[str], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Case:
    """Tool, its arguments by number, and the cost of a call without a gate."""

    tool: str
    arguments: Callable[[int], str]
    floor: Floor
    batch: int = 1
    watched: bool = False
    unrecorded: bool = False


class _Watcher:
    """Subscriber that counts."""

    def __init__(self) -> None:
        self.durable = 0
        self.live = 0

    def deliver(self, session_id: str, frame: Frame) -> None:
        if frame.seq:
            self.durable += 1
        else:
            self.live += 1


async def _floor_add(raw: str) -> None:
    await samples.plain_add(_ADD(raw, strict=True))


async def _floor_order(raw: str) -> None:
    await samples.plain_order(_ORDER(raw, strict=True))


async def _floor_talk(raw: str) -> None:
    async for _ in samples.plain_talk(_ADD(raw, strict=True)):
        pass


async def _floor_breathe(raw: str) -> None:
    await samples.plain_breathe(_ADD(raw, strict=True))


async def compare(case: Case, scale: Scale, other: Measure | None = None) -> Compared:
    """Compare calls with their floor, or with `other`."""
    count = scale.count(CALLS // case.batch)
    numbers = itertools.count(1)
    async with bench_runtime(samples.TOOLS) as runtime:
        if case.unrecorded:
            _write_events_only(runtime.db)

        async def subject() -> Figures:
            batches = [
                [
                    CallRequest(f"call_{number}", case.tool, case.arguments(number))
                    for number in itertools.islice(numbers, case.batch)
                ]
                for _ in range(count)
            ]
            return await _governed(runtime, case, batches)

        async def floor() -> Figures:
            raws = [
                [case.arguments(number) for number in itertools.islice(numbers, case.batch)]
                for _ in range(count)
            ]
            return await _bare(case, raws)

        return await interleave(scale.rounds, subject, other or floor)


def _write_events_only(db: DatabaseWriter) -> None:
    """Skip the call's row and audit line, which no compared framework writes."""
    append = db.append

    def only_events(statement: Statement, row: Sequence[Any]) -> int:
        return append(statement, row) if statement is ADD_EVENT else 0

    db.append = only_events  # type: ignore[method-assign]


async def _governed(runtime: Runtime, case: Case, batches: list[list[CallRequest]]) -> Figures:
    calls, watcher = context(runtime), _Watcher()
    if case.watched:
        calls.log.subscribers.add(watcher)
    watch = Stopwatch()
    for index, requests in enumerate(batches):
        await must_succeed(runtime, requests, calls)
        if index % BURST == 0:
            await asyncio.sleep(0)
    await runtime.db.flush()
    figures = watch.per(len(batches))
    if case.watched and not (watcher.durable == 2 * len(batches) and watcher.live >= len(batches)):
        raise RuntimeError(f"{watcher.durable} facts and {watcher.live} pieces were delivered")
    return figures


async def _bare(case: Case, batches: list[list[str]]) -> Figures:
    watch = Stopwatch()
    for index, raws in enumerate(batches):
        if len(raws) == 1:
            await case.floor(raws[0])
        else:
            await asyncio.gather(*(case.floor(raw) for raw in raws))
        if index % BURST == 0:
            await asyncio.sleep(0)
    return watch.per(len(batches))


def _benchmark(name: str, about: str, case: Case, budget: float | None = None) -> Benchmark:
    per = f"batch of {case.batch}" if case.batch > 1 else "call"

    def measure(scale: Scale) -> list[Result]:
        compared = run(compare(case, scale))
        return [
            compared.result(name, f"CPU us/{per}"),
            compared.result(f"{name}_loop", f"loop CPU us/{per}", "loop"),
        ]

    budgets = {} if budget is None else {name: budget}
    return Benchmark((name, f"{name}_loop"), about, measure, budgets)


ADD = Case("add", samples.add_arguments, _floor_add)

BENCHMARKS = (
    _benchmark(
        "dispatch",
        "a governed, recorded call of add(a, b, tags); floor: validate_json and await",
        ADD,
        budget=20,
    ),
    _benchmark(
        "dispatch_logged",
        "dispatch without the call's row and its audit line: what the budget of the design counts",
        Case("add", samples.add_arguments, _floor_add, unrecorded=True),
        budget=20,
    ),
    _benchmark(
        "dispatch_nested",
        "the same with a nested model of 15 fields",
        Case("order", samples.order_arguments, _floor_order),
    ),
    _benchmark(
        "governed_streamed",
        "a tool that yields two pieces, with a subscriber; floor: validate_json and async for",
        Case("talk", samples.add_arguments, _floor_talk, watched=True),
    ),
    _benchmark(
        "batch",
        "four parallel calls; floor: validate_json and gather",
        Case("breathe", samples.add_arguments, _floor_breathe, batch=BATCH),
    ),
)
