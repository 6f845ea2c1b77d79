"""A database that is moved, removed or replaced under a service that runs."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.program import tollgate
from tests.support.asked import asking
from tests.support.database import new_database
from tests.support.server_process import server
from tests.support.service import serving, settings_for

NAME = "tollgate.db"


def remove(data: Path) -> None:
    (data / NAME).unlink()


def replace(data: Path) -> None:
    new_database(data / "other.db")
    (data / "other.db").replace(data / NAME)


def empty(data: Path) -> None:
    os.truncate(data / NAME, 0)


def overwrite(data: Path) -> None:
    new_database(data / "other.db")
    with (data / NAME).open("r+b") as file:
        # Up to its own size: no name, number or length of a file shows it.
        file.write((data / "other.db").read_bytes()[: (data / NAME).stat().st_size])


def remove_journal(data: Path) -> None:
    (data / f"{NAME}-wal").unlink()


def move_folder(data: Path) -> None:
    data.rename(data.with_name("elsewhere"))


def _header(data: Path) -> bytes:
    with (data / NAME).open("rb") as file:
        return file.read(100)


def _rescued(data: Path) -> list[Path]:
    return list(data.glob("tollgate.rescued-*.db"))


@pytest.mark.parametrize("fault", [remove, replace, overwrite, empty, remove_journal, move_folder])
async def test_a_lost_database_ends_reading_and_writing_without_anybody_asking(
    tmp_path: Path, fault
):
    data = tmp_path / "data"
    data.mkdir()
    async with serving(settings_for(data)) as running, asking(running.url) as asked:
        await asked.new_session()
        while fault is overwrite and not any(_header(data)[60:64]):
            await asked.health()  # until the mark of this service is in the file
        before = (data / NAME).stat().st_size
        fault(data)
        assert fault is not overwrite or (data / NAME).stat().st_size == before
        gone = {"data_dir_gone"} if fault is move_folder else set()
        reported = await asked.until("database_lost", *gone)
        assert reported["code"] == "storage_unavailable"
        assert "Stop the service, restore the correct file" in reported["detail"]
        for method in ("GET", "POST"):
            refused = await asked.client.request(method, "/sessions")
            assert refused.status_code == 503, refused.text
        if fault not in (replace, overwrite):
            assert not (data / NAME).exists() or fault in (empty, remove_journal)


async def test_a_database_that_comes_back_is_written_on_and_nothing_is_lost(tmp_path: Path):
    async with serving(settings_for(tmp_path)) as running, asking(running.url) as asked:
        kept = {await asked.new_session()}
        for _ in range(2):
            (tmp_path / NAME).rename(tmp_path / "aside.db")
            await asked.until("database_lost")
            (tmp_path / "aside.db").rename(tmp_path / NAME)
            await asked.until()
            kept.add(await asked.new_session())
        assert kept <= await asked.sessions()


async def test_what_was_acknowledged_is_rescued_from_a_removed_database(tmp_path: Path):
    async with serving(settings_for(tmp_path)) as running, asking(running.url) as asked:
        kept = await asked.new_session()
        remove(tmp_path)
        reported = await asked.until("database_lost")
        (rescued,) = _rescued(tmp_path)
        assert rescued.name in reported["detail"]
        assert rescued.stat().st_mode & 0o777 == 0o600
    with closing(sqlite3.connect(rescued)) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert database.execute("SELECT id FROM sessions").fetchall() == [(kept,)]


async def test_the_doctor_of_the_command_line_hears_of_it_from_the_service(tmp_path: Path):
    async with server(tmp_path) as running, asking(running.url) as asked:
        data = tmp_path / "data"
        shutil.copy(data / NAME, tmp_path / "backup.db")
        (tmp_path / "backup.db").replace(data / NAME)
        await asked.until("database_lost")
        port = running.url.rpartition(":")[2]
        done = tollgate(data, "doctor", TOLLGATE_PORT=port)
        assert done.returncode == 1
        assert "was replaced while the service runs" in done.stdout, done.stdout + done.stderr
        # It still ends when it is asked to.
        running.process.send_signal(15)
        assert await running.process.wait() == 0
