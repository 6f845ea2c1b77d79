"""At a limit of the machine new work is refused with a reason, and taken again afterwards."""

from __future__ import annotations

import asyncio
import errno
import resource
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path

import pytest

from app.config.server import ServingSettings
from app.core import machine_limits
from app.core.machine_limits import Use, overload_of
from tests.support.asked import asking
from tests.support.raw_clients import HEALTH, raw_client, request
from tests.support.server_process import server
from tests.support.service import serving, settings_for

FEW_FILES = "import resource as r; r.setrlimit(r.RLIMIT_NOFILE, (320, 320))"


@contextmanager
def limited(which: int, soft: int) -> Iterator[None]:
    """This process with less of something, of which it has used nearly all."""
    before = resource.getrlimit(which)
    resource.setrlimit(which, (soft, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(which, before)


def used_memory() -> int:
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[0]
    return int(pages) * resource.getpagesize()


async def test_a_flood_of_half_requests_leaves_health_and_ends_with_the_flood(tmp_path: Path):
    async with server(tmp_path, before=FEW_FILES) as running:
        async with AsyncExitStack() as flood:
            for number in range(400):
                client = await flood.enter_async_context(
                    raw_client(running.url, source=f"127.0.1.{number % 200 + 1}")
                )
                await client.send("GET /api/v1/se")
                if number % 50 == 49:
                    async with raw_client(running.url) as asker:
                        await asker.send(HEALTH)
                        assert (await asker.answer()).status == 200
            async with raw_client(running.url) as asker:
                await asker.send(request("/api/v1/sessions"))
                answer = await asker.answer()
                assert answer.status in (200, 503)
        async with asking(running.url) as asked:
            await asked.until()
            assert await asked.new_session() in await asked.sessions()


async def test_few_open_files_that_are_left_end_admission_until_there_are_more(tmp_path: Path):
    async with serving(settings_for(tmp_path)) as running, asking(running.url) as asked:
        kept = await asked.new_session()
        with limited(resource.RLIMIT_NOFILE, machine_limits.open_files().used + 32):
            reported = await asked.until("files_low")
            assert (reported["code"], reported["retryable"]) == ("overloaded", True)
            for method, path in (("POST", "/sessions"), ("GET", "/sessions")):
                refused = await asked.client.request(method, path)
                assert (refused.status_code, refused.json()["code"]) == (503, "overloaded")
                assert int(refused.headers["retry-after"]) >= 1
            async with raw_client(running.url) as client:
                lines = ("Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13")
                key = "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=="
                await client.send(request("/api/v1/ws", *lines, key))
                assert (await client.answer()).status == 503
        await asked.until()
        assert kept in await asked.sessions()
        assert await asked.new_session()


async def test_little_memory_that_is_left_ends_admission_until_there_is_more(tmp_path: Path):
    async with serving(settings_for(tmp_path)) as running, asking(running.url) as asked:
        with limited(resource.RLIMIT_AS, used_memory() + (48 << 20)):
            reported = await asked.until("memory_low")
            assert reported["code"] == "overloaded"
            assert (await asked.client.post("/sessions", json={})).status_code == 503
        await asked.until()
        assert await asked.new_session()


BODY = b'{"token": "' + b"1" * (6 << 20) + b'"}'
LITTLE_MEMORY = """
import resource as r
used = int(open("/proc/self/statm").read().split()[0]) * r.getpagesize()
r.setrlimit(r.RLIMIT_AS, (used + (300 << 20),) * 2)
"""


async def pieces() -> AsyncIterator[bytes]:
    """The body, of which nobody says beforehand how large it is."""
    for start in range(0, len(BODY), 1 << 16):
        yield BODY[start : start + (1 << 16)]


@pytest.mark.parametrize("announced", [True, False], ids=["announced", "in pieces"])
async def test_more_large_bodies_than_memory_will_do_for_are_refused_and_health_is_not(
    tmp_path: Path, *, announced: bool
):
    headers = {"Content-Type": "application/json"}
    async with server(tmp_path, before=LITTLE_MEMORY) as running, asking(running.url) as asked:
        posts = (
            asked.client.post("/login", content=BODY if announced else pieces(), headers=headers)
            for _ in range(24)
        )
        answers, _ = await asyncio.gather(asyncio.gather(*posts), asked.health())
        statuses = {answer.status_code for answer in answers}
        assert 503 in statuses
        assert statuses <= {422, 503}
        assert all(answer.json()["retryable"] for answer in answers if answer.status_code == 503)
        await asked.until()
        assert await asked.new_session()


async def test_large_bodies_that_are_announced_and_not_sent_keep_nobody_out(tmp_path: Path):
    lines = "Content-Type: application/json", f"Content-Length: {len(BODY)}"
    async with server(tmp_path, before=LITTLE_MEMORY) as running, AsyncExitStack() as stack:
        for _ in range(20):
            silent = await stack.enter_async_context(raw_client(running.url))
            await silent.send(request("/api/v1/login", *lines, method="POST") + "{")
        asked = await stack.enter_async_context(asking(running.url))
        headers = {"Content-Type": "application/json"}
        answer = await asked.client.post("/login", content=BODY, headers=headers)
        assert answer.status_code == 422, answer.text


async def test_the_reserve_of_the_disk_ends_changes_and_lets_read_and_free(tmp_path: Path):
    reserve = ServingSettings(disk_reserve_mb=1 << 40)
    settings = settings_for(tmp_path, serving=reserve)
    async with serving(settings) as running, asking(running.url) as asked:
        reported = await asked.until("disk_low")
        assert (reported["code"], reported["retryable"]) == ("storage_unavailable", True)
        refused = await asked.client.post("/sessions", json={})
        assert (refused.status_code, refused.json()["code"]) == (503, "storage_unavailable")
        assert await asked.sessions() == set()
        assert (await asked.client.post("/logout")).status_code == 200
        assert (await asked.client.delete("/admin/tokens/none")).status_code == 404
        session = running.session()
        async with running.connect() as chat:
            error = await chat.command(
                type="tool_call",
                session_id=session.id,
                calls=[{"name": "calculator", "arguments": {"expression": "1+1"}}],
            )
            assert error["error"]["code"] == "storage_unavailable"
        found = (await asked.client.get("/admin/doctor")).json()
        (check,) = [item for item in found["checks"] if item["code"] == "condition.disk_low"]
        assert check["state"] == "broken"
        assert not found["ok"]


async def test_a_service_with_nothing_wrong_says_so_to_its_doctor(tmp_path: Path):
    async with serving(settings_for(tmp_path)) as running, asking(running.url) as asked:
        found = (await asked.client.get("/admin/doctor")).json()
        (check,) = [item for item in found["checks"] if item["code"] == "condition"]
        assert (check["state"], check["found"]) == ("ok", "accepts new work")
        assert "tollgate_not_ready 0.0" in (await asked.client.get("/metrics")).text


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        RuntimeError("can't start new thread"),
        OSError(errno.EMFILE, "Too many open files"),
        OSError(errno.ENOMEM, "Cannot allocate memory"),
        BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable"),
    ],
    ids=repr,
)
def test_what_a_limit_of_the_machine_caused_is_reported_as_that(error: BaseException):
    reported = overload_of(error)
    assert reported is not None
    assert reported.retryable
    assert reported.details["retry_after_ms"] > 0


@pytest.mark.parametrize("error", [ValueError(), RuntimeError("x"), OSError(errno.ENOENT, "x")])
def test_what_it_did_not_cause_is_not(error: BaseException):
    assert overload_of(error) is None


def test_what_is_short_recovers_only_when_there_is_more_than_the_reserve():
    assert Use(91, 100, 10).is_short
    assert not Use(90, 100, 10).is_short
    assert not Use(90, 100, 10).has_recovered
    assert Use(88, 100, 10).has_recovered
