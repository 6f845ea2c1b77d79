"""Connections of a call's programs are in its result, in the table and in the metrics."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.config.sections import SandboxSettings
from app.config.settings import Settings
from app.db.engine import Database
from app.execution.connections.reader import ConnectionFilters, ConnectionReader
from app.execution.connections.recorder import ConnectionRecorder
from app.execution.outcome import CallOutcome
from app.operations.protocols.processes import NetworkConnection
from tests.execution.lab import Lab, open_lab
from tests.operations.egress.servers import echo, local_server

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

    assert outcome.result.data["stdout"] == "ping\n"
    (told,) = outcome.result.data["network"]
    assert (told["host"], told["port"], told["verdict"]) == ("127.0.0.1", port, "allowed")
    assert (told["connections"], told["bytes_up"], told["bytes_down"]) == (1, 4, 4)
    (row,) = await lab.rows(CONNECTIONS)
    assert row[:6] == ("127.0.0.1", port, "allowed", None, 4, 4)
    assert row[6:9] == (outcome.operation_id, lab.session.id, "ann")
    counters = lab.runtime.metrics.counters
    assert counters["network_connections", "allowed"] == 1
    assert counters["network_bytes", "up"] == 4


async def test_a_refused_host_is_named_with_the_command_that_allows_it(lab: Lab):
    outcome = await run(lab, "curl -sS https://other.example/; true")

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
