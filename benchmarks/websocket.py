"""Chat protocol, compared with a bare FastAPI WebSocket on the same server settings.

Servers run in separate processes and report their own CPU time; the clients in this process are not
counted. The floor sends one prepared text to each socket in a loop; the subject encodes each event,
queues it for every subscriber and writes.
"""

from __future__ import annotations

import asyncio
import itertools
from dataclasses import dataclass

from benchmarks.harness import (
    Benchmark,
    Compared,
    Figures,
    Result,
    Scale,
    interleave,
    run,
)
from benchmarks.sample_tools import add_arguments
from benchmarks.served import PATIENCE_S, Served, serving
from benchmarks.wire import WireClient

EVENTS = 10_000
MANY = 100
BURST = 16
REQUESTS = 2000
# ack, run_started, message, tool_call_started, tool_call_completed, message, run_finished
FRAMES_OF_A_CALL = 7


@dataclass(frozen=True, slots=True)
class Fanout:
    """`clients` watch one session that sends bursts of `burst` events."""

    clients: int
    burst: int
    live: bool = True


async def _fan_out(case: Fanout, scale: Scale) -> Compared:
    count = scale.count(EVENTS // max(1, case.clients // 4), least=case.burst)
    async with serving("tollgate") as service, serving("floor") as bare:
        watching = [await watch(service) for _ in range(case.clients)]
        listening = [await bare.client("/stream") for _ in range(case.clients)]

        async def subject() -> Figures:
            return await emit(service, watching, count, case)

        async def floor() -> Figures:
            return await emit(bare, listening, count, case)

        try:
            return await interleave(scale.rounds, subject, floor)
        finally:
            for client in (*watching, *listening):
                client.close()


async def watch(service: Served) -> WireClient:
    """Connect a client that follows the session of the benchmark."""
    client = await service.client("")
    command = f'{{"v":1,"id":"s","type":"subscribe","session_id":"{service.session_id}"}}'
    answer = await client.ask(command.encode())
    if b'"subscribed"' not in answer:
        raise RuntimeError(f"not subscribed: {answer!r}")
    return client


async def emit(server: Served, clients: list[WireClient], count: int, case: Fanout) -> Figures:
    """Have a server send events to all clients; return the cost of one for one client."""
    targets = [client.received + count for client in clients]
    before = await server.cpu()
    await server.tell(do="emit", live=case.live, count=count, burst=case.burst)
    async with asyncio.timeout(PATIENCE_S):
        for client, target in zip(clients, targets, strict=True):
            await client.until(target)
    after = await server.cpu()
    return {"cpu": (after - before) * 1e6 / (count * len(clients))}


async def _echo(scale: Scale) -> Compared:
    count = scale.count(REQUESTS)
    async with serving("tollgate") as service, serving("floor") as bare:
        real, plain = await service.client(""), await bare.client("/echo")

        async def turn(server: Served, client: WireClient) -> Figures:
            before = await server.cpu()
            for number in range(count):
                await client.ask(b'{"v":1,"type":"ping","id":"p%d"}' % number)
            after = await server.cpu()
            return {"cpu": (after - before) * 1e6 / count}

        compared = await interleave(
            scale.rounds, lambda: turn(service, real), lambda: turn(bare, plain)
        )
        _expect(real.last, b'"ack"')
        return compared


async def _calls(scale: Scale) -> Compared:
    count = scale.count(REQUESTS // 2)
    async with serving("tollgate") as service, serving("floor") as bare:
        real, plain = await watch(service), await bare.client("/call")
        numbers = itertools.count(1)  # every command has a unique ID

        async def subject() -> Figures:
            before = await service.cpu()
            for number in itertools.islice(numbers, count):
                await _call(real, service.session_id, number)
            after = await service.cpu()
            return {"cpu": (after - before) * 1e6 / count}

        async def floor() -> Figures:
            before = await bare.cpu()
            for number in range(count):
                await plain.ask(add_arguments(number).encode())
            after = await bare.cpu()
            return {"cpu": (after - before) * 1e6 / count}

        return await interleave(scale.rounds, subject, floor)


async def _call(client: WireClient, session_id: str, number: int) -> None:
    """Make one direct call: its ack, and the events of its run to the last."""
    wanted = client.received + FRAMES_OF_A_CALL
    client.send(
        f'{{"v":1,"type":"tool_call","id":"c{number}","session_id":"{session_id}",'
        f'"name":"add","arguments":{add_arguments(number)}}}'.encode()
    )
    async with asyncio.timeout(PATIENCE_S):
        await client.until(wanted)
    # Either may be last: both the ack and the events wait for the disk.
    if not (b'"run_finished"' in client.last or b'"ack"' in client.last):
        raise RuntimeError(f"unexpected end of a call: {client.last!r}")


def _expect(answer: bytes, part: bytes) -> None:
    if part not in answer:
        raise RuntimeError(f"unexpected answer: {answer!r}")


def _fanout(name: str, about: str, case: Fanout, budget: float | None = None) -> Benchmark:
    def measure(scale: Scale) -> list[Result]:
        return [run(_fan_out(case, scale)).result(name, "server CPU us/event")]

    return Benchmark((name,), about, measure, {} if budget is None else {name: budget})


BENCHMARKS = (
    _fanout(
        "ws_fanout",
        f"live events in bursts of {BURST} to one client; floor: FastAPI send_text",
        Fanout(1, BURST),
        budget=5,
    ),
    _fanout(
        "ws_fanout_100",
        f"live events in bursts of {BURST} to {MANY} clients; floor: FastAPI send_text",
        Fanout(MANY, BURST),
    ),
    _fanout(
        "ws_single",
        "live events one by one to one client; floor: FastAPI send_text",
        Fanout(1, 1),
    ),
    _fanout(
        "ws_single_100",
        f"live events one by one to {MANY} clients; floor: FastAPI send_text",
        Fanout(MANY, 1),
    ),
    _fanout(
        "ws_durable",
        f"recorded events in bursts of {BURST} to one client; floor: FastAPI send_text",
        Fanout(1, BURST, live=False),
    ),
    _fanout(
        "ws_durable_100",
        f"recorded events in bursts of {BURST} to {MANY} clients; floor: FastAPI send_text",
        Fanout(MANY, BURST, live=False),
    ),
    Benchmark(
        ("ws_echo",),
        "a validated ping and its ack; floor: FastAPI echo",
        lambda scale: [run(_echo(scale)).result("ws_echo", "server CPU us/request")],
    ),
    Benchmark(
        ("ws_call",),
        "a tool_call and the events of its run; floor: FastAPI validate, await, send_json",
        lambda scale: [run(_calls(scale)).result("ws_call", "server CPU us/call")],
    ),
)
