"""What is remembered of the files that sessions wrote, by workspace."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import pytest

from app.config.settings import Settings
from app.db.writer import SqliteWriter
from app.execution.context import Project
from app.execution.provenance import written_files as module
from app.execution.provenance.written_files import WrittenFiles
from app.governance.config_versions import ConfigVersions
from app.policy.risk.model import FileRun


class Time:
    """A clock that starts where files are changed, and is put on by hand."""

    def __init__(self, folder: Path) -> None:
        mark = folder / "mark"
        mark.touch()
        self.now = mark.stat().st_ctime

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "work"
    root.mkdir()
    return root


@pytest.fixture
def time(tmp_path: Path) -> Time:
    return Time(tmp_path)


@pytest.fixture
async def db(settings: Settings) -> AsyncIterator[SqliteWriter]:
    db = SqliteWriter(settings.database_path)
    await db.start()
    yield db
    await db.close()


def project(root: Path) -> Project:
    return Project("p", str(root), cast("Any", None))


def known(written: WrittenFiles, root: Path, name: str) -> bool:
    path = f"{root}/{name}"
    return bool(written.content(str(root), "", [FileRun(path, "shell")]))


def changed(path: Path) -> float:
    path.write_text("true\n", encoding="utf-8")
    return path.stat().st_ctime


def test_a_file_counts_that_changed_while_a_call_ran(root: Path, time: Time):
    written = WrittenFiles(now=time)
    time.now = changed(root / "before") + 10
    written.begin(project(root))
    time.now += 10
    written.end(project(root))
    assert not known(written, root, "before")

    time.now = changed(root / "within") - 10
    written.begin(project(root))
    assert known(written, root, "within")
    time.now += 20
    written.end(project(root))
    assert known(written, root, "within")


def test_what_changes_between_calls_is_somebody_elses(root: Path, time: Time):
    written = WrittenFiles(now=time)
    at = changed(root / "theirs")
    for start in (at - 20, at + 10):
        time.now = start
        written.begin(project(root))
        time.now += 5
        written.end(project(root))

    assert not known(written, root, "theirs")


def test_calls_that_follow_at_once_are_one_time(root: Path, time: Time):
    written = WrittenFiles(now=time)
    at = changed(root / "f")
    for start in (at - 5.4, at + 0.2):
        time.now = start
        written.begin(project(root))
        time.now += 5
        written.end(project(root))

    assert known(written, root, "f")


def test_as_long_as_a_process_is_left_behind_the_time_goes_on(root: Path, time: Time):
    running = {"p"}
    written = WrittenFiles(now=time, is_worked_in=running.__contains__)
    time.now = changed(root / "late") - 50
    written.begin(project(root))
    time.now += 5
    written.end(project(root))
    time.now += 100

    assert known(written, root, "late")
    running.clear()
    assert known(written, root, "late")


def test_a_command_names_what_it_has_changed_and_no_more(root: Path, time: Time):
    written = WrittenFiles(now=time)
    time.now = changed(root / "old") + 100
    written.begin(project(root))
    written.end(project(root), [f"{root}/old", f"{root}/missing"])

    assert not known(written, root, "old")


def test_a_name_outside_of_the_workspace_is_not_kept(root: Path, tmp_path: Path):
    written = WrittenFiles()
    changed(tmp_path / "outside")
    written.note(str(root), [str(tmp_path / "outside"), f"{root}/../outside"])

    assert not known(written, root, "../outside")


def test_only_so_many_are_kept(root: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "MAX_FILES", 2)
    written = WrittenFiles()
    for name in "abc":
        changed(root / name)
        written.note(str(root), [f"{root}/{name}"])

    assert [known(written, root, name) for name in "abc"] == [False, True, True]


async def test_it_is_there_again_after_a_restart(root: Path, time: Time, db: SqliteWriter):
    before = WrittenFiles(db, now=time)
    before.note(str(root), [f"{root}/named"])
    changed(root / "named")
    time.now = changed(root / "timed") - 5
    before.begin(project(root))
    before.accept(str(root), "command", [(f"{root}/timed", "digest")])
    time.now += 10
    before.end(project(root))
    await db.flush()

    after = WrittenFiles(db, now=time)
    await after.load()
    assert known(after, root, "named")
    assert known(after, root, "timed")
    time.now += module.MAX_AGE_S + 1
    later = WrittenFiles(db, now=time)
    await later.load()
    assert not known(later, root, "named")
    assert not known(later, root, "timed")


async def test_a_call_that_was_cut_off_counts_until_the_next_start(
    root: Path, time: Time, db: SqliteWriter
):
    time.now = changed(root / "f") - 5
    WrittenFiles(db, now=time).begin(project(root))
    await db.flush()
    time.now += 10
    after = WrittenFiles(db, now=time)
    await after.load()

    assert known(after, root, "f")
    await db.flush()
    assert await db.transact(lambda rows: rows.fetch("SELECT ended FROM written", ())) == [
        (time.now,)
    ]


async def test_another_process_sees_it(root: Path, db: SqliteWriter):
    changes = ConfigVersions(db)
    service = WrittenFiles(db, changes)
    await service.load()
    await changes.poll()
    changed(root / "f")
    other = WrittenFiles(db)
    other.begin(project(root))
    changed(root / "g")
    other.note(str(root), [f"{root}/f"])
    other.end(project(root))
    await db.flush()
    assert not known(service, root, "f")
    await changes.poll()

    assert known(service, root, "f")
    assert known(service, root, "g")


async def test_an_accepted_content_is_accepted_for_its_command(root: Path):
    written = WrittenFiles()
    changed(root / "f")
    written.note(str(root), [f"{root}/f"])
    runs = [FileRun(f"{root}/f", "shell")]
    (found,) = written.content(str(root), "one", runs)
    written.accept(str(root), "one", [(found.path, found.digest)])

    assert written.content(str(root), "one", runs)[0].accepted
    assert not written.content(str(root), "two", runs)[0].accepted
    (root / "f").write_text("false\n", encoding="utf-8")
    assert not written.content(str(root), "one", runs)[0].accepted


def test_nothing_is_known_of_a_workspace_in_which_nothing_ran(root: Path):
    changed(root / "f")

    assert not known(WrittenFiles(), root, "f")
