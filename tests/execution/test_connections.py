"""Connections of a call's programs are in its result, in the table and in the metrics."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from app.config.sections import SandboxSettings
from app.config.settings import Settings
from app.db.engine import Database
from app.execution.connections.reader import ConnectionFilters, ConnectionReader
from app.execution.connections.recorder import ConnectionRecorder
from app.execution.outcome import CallOutcome
from app.operations.protocols.processes import NetworkConnection
from scripts.parts import SANDBOX
from tests.execution.lab import Lab, open_lab
from tests.operations.egress.servers import echo, local_server
from tests.support.binaries import needs

pytestmark = needs(SANDBOX)

LOOPBACK = ["127.0.0.0/8"]
ASK = """
import socket
with socket.create_connection(("127.0.0.1", {port})) as server:
    server.sendall(b"ping")
    print(server.recv(9).decode())
"""


@pytest.fixture
async def port() -> AsyncIterator[int]:
    async with local_server(echo) as own:
        yield own


@pytest.fixture
async def lab(settings: Settings, port: int) -> AsyncIterator[Lab]:
    sandbox = SandboxSettings(
        warm_workers=0, allowed_hosts=[f"127.0.0.1:{port}"], allow_networks=LOOPBACK
    )
    async with open_lab(settings.model_copy(update={"sandbox": sandbox})) as opened:
        yield opened


CONNECTIONS = (
    "SELECT host, port, verdict, code, bytes_up, bytes_down, operation_id, session_id, user_id,"
    " project_id FROM network_connections ORDER BY seq"
)


async def run(lab: Lab, command: str) -> CallOutcome:
    """Run an approved command."""
    calling = asyncio.create_task(lab.call("bash", command=command))
    asked = asyncio.create_task(lab.watcher.until("tool_confirmation_request"))
    await asyncio.wait({calling, asked}, return_when=asyncio.FIRST_COMPLETED)
    if not calling.done():
        await lab.answer("approve_once")
    asked.cancel()
    return await calling


@pytest.mark.requirement("WB-09")
async def test_a_connection_is_in_the_result_and_a_row_of_its_call(lab: Lab, port: int):
    (Path(lab.context["project"].root) / "ask.py").write_text(ASK.format(port=port))

    outcome = await run(lab, "python3 ask.py")

    assert outcome.result.data["stdout"] == "ping\n", outcome.result.for_model()
    (shown,) = outcome.result.data["network"]
    assert (shown["host"], shown["port"], shown["verdict"]) == ("127.0.0.1", port, "allowed")
    assert (shown["connections"], shown["bytes_up"], shown["bytes_down"]) == (1, 4, 4)
    (row,) = await lab.rows(CONNECTIONS)
    assert row[:6] == ("127.0.0.1", port, "allowed", None, 4, 4)
    assert row[6:9] == (outcome.operation_id, lab.session.id, "ann")
    counters = lab.runtime.metrics.counters
    assert counters["network_connections", "allowed"] == 1
    assert counters["network_bytes", "up"] == 4


async def test_a_refused_host_is_named_with_the_command_that_allows_it(lab: Lab):
    look_up = "import socket; socket.getaddrinfo('other.example', 443)"
    outcome = await run(lab, f'python3 -c "{look_up}"; true')

    assert "tollgate network allow other.example" in outcome.result.for_model()
    (row,) = await lab.rows(CONNECTIONS)
    assert row[:4] == ("other.example", 0, "refused", "not_allowed")


async def test_rows_of_a_service_that_was_killed_are_lost(lab: Lab):
    runtime = lab.runtime
    recorder = ConnectionRecorder(runtime.db, runtime.clock, runtime.redactor, runtime.metrics)
    recorder.begin().opened(1, NetworkConnection("a.example", 443, "open"))
    await runtime.db.flush()
    await recorder.load()
    rows = await lab.rows("SELECT host, verdict FROM network_connections")
    assert rows == [("a.example", "lost")]


async def test_rows_are_found_by_their_fields(lab: Lab):
    runtime = lab.runtime
    recorder = ConnectionRecorder(runtime.db, runtime.clock, runtime.redactor, runtime.metrics)
    calling = recorder.begin()
    for number, host in enumerate(("a.example", "b.example", "a.example")):
        calling.opened(number, NetworkConnection(host, 443, "open"))
        calling.ended(number, NetworkConnection(host, 443, "allowed", bytes_down=number))
    await runtime.db.flush()
    database = Database(runtime.settings.database_path)
    try:
        reader = ConnectionReader(database)
        found = await reader.page(ConnectionFilters(host="a.example"), limit=1)
        older = await reader.page(ConnectionFilters(host="a.example"), limit=9, before=found[0].seq)
        none = await reader.page(ConnectionFilters(verdict="open"), limit=9)
    finally:
        await database.close()
    assert [row.bytes_down for row in (*found, *older)] == [2, 0]
    assert list(none) == []


async def test_secrets_in_host_names_are_masked(lab: Lab):
    runtime = lab.runtime
    runtime.redactor.learn("test", ["s3cret-value-0123"])
    recorder = ConnectionRecorder(runtime.db, runtime.clock, runtime.redactor, runtime.metrics)
    recorder.begin().refused(NetworkConnection("s3cret-value-0123.example", 0, "refused"))
    await runtime.db.flush()
    ((host,),) = await lab.rows("SELECT host FROM network_connections")
    assert "s3cret" not in host


@pytest.fixture
async def bare(settings: Settings) -> AsyncIterator[Lab]:
    """A gate whose project allows no host."""
    sandbox = SandboxSettings(warm_workers=0, allow_networks=LOOPBACK)
    async with open_lab(settings.model_copy(update={"sandbox": sandbox})) as opened:
        yield opened


async def asked_for(lab: Lab, answer: str, **arguments: Any) -> tuple[CallOutcome, str]:
    """Return the outcome of a command that asks, and what it asked."""
    calling = asyncio.create_task(lab.call("bash", **arguments))
    asked = await lab.watcher.until("tool_confirmation_request")
    await lab.answer(answer, asked)
    return await calling, str(asked)


async def test_a_call_reaches_a_host_that_a_person_approved_for_it(bare: Lab, port: int):
    (Path(bare.context["project"].root) / "ask.py").write_text(ASK.format(port=port))
    hosts = [f"127.0.0.1:{port}"]

    outcome, reason = await asked_for(
        bare, "approve_once", command="python3 ask.py", allow_hosts=hosts
    )
    without = await bare.call("bash", call_id="c2", command="python3 ask.py")

    assert f"asks for network access to 127.0.0.1:{port}" in reason
    assert outcome.result.data["stdout"] == "ping\n", outcome.result.for_model()
    assert not without.result.success
    assert [row[:3] for row in await bare.rows(CONNECTIONS)] == [("127.0.0.1", port, "allowed")]


async def test_a_declined_host_is_not_reached(bare: Lab, port: int):
    outcome, _ = await asked_for(bare, "decline", command="true", allow_hosts=["a.example"])
    assert outcome.status == "declined"
    assert await bare.rows(CONNECTIONS) == []


async def test_a_host_of_the_project_needs_no_approval(lab: Lab, port: int):
    (Path(lab.context["project"].root) / "ask.py").write_text(ASK.format(port=port))
    outcome = await lab.call("bash", command="python3 ask.py", allow_hosts=[f"127.0.0.1:{port}"])
    assert outcome.result.data["stdout"] == "ping\n", outcome.result.for_model()
    assert lab.watcher.of("tool_confirmation_request") == []


async def test_a_host_that_is_none_is_refused_with_its_field(bare: Lab):
    outcome = await bare.call("bash", command="true", allow_hosts=["https://a.example/x"])
    assert outcome.status == "invalid_arguments"
    assert "allow_hosts" in outcome.result.for_model()
