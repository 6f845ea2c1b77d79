"""A log that nobody reads, or that cannot be written, holds up nobody else."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.faults.test_slow_clients import UPGRADE
from tests.support import forked
from tests.support.asked import asking
from tests.support.database import new_database
from tests.support.raw_clients import PATIENCE_S, raw_client, request
from tests.support.server_process import ENVIRONMENT, _url_in

# Each leaves a line; a pipe holds 64 KiB.
REFUSED = 1000


@asynccontextmanager
async def service_with_log(folder: Path, stderr: int) -> AsyncIterator[tuple[str, forked.Forked]]:
    new_database(folder / "data" / "tollgate.db")
    process = forked.start(
        ["serve", "--data-dir", str(folder / "data")],
        cwd=folder,
        environment=ENVIRONMENT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=stderr,
    )
    try:
        async with asyncio.timeout(PATIENCE_S):
            url = await asyncio.to_thread(_url_in, process.stdout)
        assert url is not None
        yield url, process
    finally:
        process.kill()
        await asyncio.to_thread(process.communicate)


async def _leave_lines(url: str) -> None:
    for _ in range(REFUSED):
        async with raw_client(url) as client:
            await client.send(request("/api/v1/ws", *UPGRADE, host="evil.example"))
            assert (await client.answer()).status == 403


async def test_a_service_goes_on_while_nobody_reads_its_log(tmp_path: Path):
    async with service_with_log(tmp_path, subprocess.PIPE) as (url, process):
        await _leave_lines(url)
        async with asking(url) as asked:
            assert (await asked.health())["status"] == "ok"
            assert await asked.new_session() in await asked.sessions()
        process.terminate()
        assert await asyncio.to_thread(process.wait) == 0


async def test_a_service_goes_on_while_its_log_cannot_be_written(tmp_path: Path):
    full = os.open("/dev/full", os.O_WRONLY)
    try:
        async with service_with_log(tmp_path, full) as (url, _), asking(url) as asked:
            async with raw_client(url) as client:
                await client.send(request("/api/v1/ws", *UPGRADE, host="evil.example"))
                assert (await client.answer()).status == 403
            assert await asked.new_session() in await asked.sessions()
    finally:
        os.close(full)
