"""How soon the meter looks again."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import NoReturn

import pytest

from app.operations.sandbox.jail import meter as meter_module
from app.operations.sandbox.jail import supervisor
from app.operations.sandbox.jail.job import Policy
from app.operations.sandbox.jail.meter import Meter
from app.operations.sandbox.jail.procfs import ProcFs

MB = 1 << 20
PAGE = os.sysconf("SC_PAGE_SIZE")


class Reading(ProcFs):
    """A tree of processes, of which the first holds as much memory as it is told.

    Attributes:
        shared_counted: how often somebody asked what of it is shared.
    """

    def __init__(self, resident: int, proportional: int, processes: int = 1) -> None:
        super().__init__()
        self.shared_counted = 0
        self._processes = processes
        self._files = {
            "7/statm": f"0 {resident // PAGE} 0".encode(),
            "7/smaps_rollup": f"Pss: {proportional >> 10} kB\n".encode(),
        }

    def read(self, path: str) -> bytes:
        self.shared_counted += path.endswith("smaps_rollup")
        return self._files.get(path, b"")

    def is_hidden(self, pid: int) -> bool:
        return False

    def descendants(self, pid: int) -> Iterator[tuple[int, int]]:
        for pid in range(7, 7 + self._processes):
            yield pid, 1


@pytest.fixture
def look_takes(monkeypatch: pytest.MonkeyPatch):
    """Let each look take this many seconds of a processor."""

    def take(spent_s: float) -> None:
        readings = iter(range(1000))
        monkeypatch.setattr(time, "thread_time", lambda: next(readings) * spent_s)

    return take


def meter(resident: int, proportional: int) -> Meter:
    return Meter(Policy("lenient", (), memory_bytes=512 * MB), Reading(resident, proportional))


@pytest.mark.parametrize(
    ("resident", "spent_s", "rest_s"),
    [
        (10, 0.0002, 0.1),  # far from its limit, and cheap to look at
        (10, 0.01, 0.2),  # dear to look at: a twentieth of a processor
        (10, 1.0, 0.25),  # never longer than this
        (300, 0.0002, 0.02),  # near its limit
        (300, 0.01, 0.05),  # near and dear: what it adds meanwhile is beyond the limit
        (300, 0.04, 0.12),  # but never more than a quarter of a processor
        (300, 1.0, 0.25),
    ],
)
def test_a_tree_near_its_limit_is_looked_at_more_often(look_takes, resident, spent_s, rest_s):
    look_takes(spent_s)
    tree = meter(resident * MB, resident * MB)

    assert tree.excess() is None

    assert tree.interval_s == pytest.approx(rest_s)


def test_shared_pages_are_counted_once_and_watched_closely(look_takes):
    """Counting them is what makes a look dear, and it is only done beyond the limit."""
    look_takes(0.012)
    tree = meter(600 * MB, 400 * MB)

    assert tree.excess() is None
    assert tree.interval_s == pytest.approx(0.05)
    assert meter(600 * MB, 513 * MB).excess() == "memory"


def test_a_look_gives_way_to_what_is_due_before_it_counts_shared_pages():
    """A process that forks without end keeps everybody waiting who counts its pages."""
    due = iter((False, True))
    policy = Policy("lenient", (), memory_bytes=512 * MB)
    tree = Reading(600 * MB, 400 * MB, processes=3)
    tree_meter = Meter(policy, tree)

    assert tree_meter.excess(lambda: next(due)) is None
    assert tree.shared_counted == 1


def test_a_tree_that_makes_files_is_counted_more_often_until_it_rests(tmp_path, monkeypatch):
    free = 10_000
    monkeypatch.setattr(os, "statvfs", lambda _folder: SimpleNamespace(f_ffree=free, f_bfree=1))
    policy = Policy("lenient", (), inodes=2_000, writable=(str(tmp_path),))
    tree_meter = Meter(policy, Reading(MB, MB))
    assert tree_meter.glance_s == 0.02

    free -= 100
    assert tree_meter.glance() is None
    assert tree_meter.glance_s == 0.004
    assert tree_meter.glance() is None
    assert tree_meter.glance_s == 0.02


def test_only_files_of_its_own_folder_count(tmp_path, monkeypatch):
    free = 10_000
    monkeypatch.setattr(os, "statvfs", lambda _folder: SimpleNamespace(f_ffree=free, f_bfree=1))
    # the clock of a file system may be some milliseconds behind
    monkeypatch.setattr(time, "time_ns", lambda: 0)
    policy = Policy("lenient", (), inodes=3, writable=(str(tmp_path),))
    tree_meter = Meter(policy, Reading(MB, MB))

    free -= 2_000
    assert tree_meter.glance() is None

    for number in range(4):
        (tmp_path / str(number)).touch()
    free -= 4
    assert tree_meter.glance() == "files"


def test_what_others_delete_hides_nothing(tmp_path, monkeypatch):
    free = 10_000
    monkeypatch.setattr(os, "statvfs", lambda _folder: SimpleNamespace(f_ffree=free, f_bfree=1))
    monkeypatch.setattr(time, "time_ns", lambda: 0)
    policy = Policy("lenient", (), inodes=3, writable=(str(tmp_path),))
    tree_meter = Meter(policy, Reading(MB, MB))

    free += 5_000
    assert tree_meter.glance() is None

    for number in range(4):
        (tmp_path / str(number)).touch()
    free -= 4
    assert tree_meter.glance() == "files"


def test_what_others_delete_meanwhile_hides_nothing(tmp_path, monkeypatch):
    """They delete as fast as the tree creates, so that no file system's count ever falls."""
    free = 10_000
    monkeypatch.setattr(os, "statvfs", lambda _folder: SimpleNamespace(f_ffree=free, f_bfree=1))
    monkeypatch.setattr(time, "time_ns", lambda: 0)
    policy = Policy("lenient", (), inodes=3, writable=(str(tmp_path),))
    tree_meter = Meter(policy, Reading(MB, MB))

    verdicts = []
    for number in range(4):
        (tmp_path / str(number)).touch()
        free += 1
        verdicts.append(tree_meter.glance())

    assert verdicts == [None, None, None, "files"]


def test_what_others_delete_condemns_nobody(tmp_path, monkeypatch):
    free = 10_000
    monkeypatch.setattr(os, "statvfs", lambda _folder: SimpleNamespace(f_ffree=free, f_bfree=1))
    monkeypatch.setattr(meter_module, "count_since", lambda *_: None)  # too large to count
    policy = Policy("lenient", (), inodes=3, writable=(str(tmp_path),))
    tree_meter = Meter(policy, Reading(MB, MB))

    free += 5_000

    assert tree_meter.glance() is None


class Writing(Reading):
    """A tree whose processes have written these megabytes, in the order of their creation.

    Attributes:
        counts: by process; that of this one, which reaps the others, is 0.
        dead: processes that are being reaped.
    """

    def __init__(self) -> None:
        super().__init__(MB, MB)
        self.counts: dict[int, int] = {}
        self.dead: set[int] = set()

    def read(self, path: str) -> bytes:
        pid, _, name = path.partition("/")
        if name == "io":
            return b"write_bytes: %d\n" % (self.counts.get(int(pid), 0) * MB)
        return b""

    def is_dead(self, pid: int) -> bool:
        return pid in self.dead or pid not in self.counts

    def descendants(self, pid: int) -> Iterator[tuple[int, int]]:
        for number in sorted(self.counts):
            yield number, 1


def verdicts_of(tree: Writing, *readings: dict[int, int]) -> list[str | None]:
    """Return what the meter says of a limit of 10 MB after each reading."""
    tree_meter = Meter(Policy("lenient", (), disk_bytes=10 * MB), tree)
    verdicts = []
    for tree.counts in readings:
        verdicts.append(tree_meter.excess())
    return verdicts


def test_a_process_that_is_being_reaped_counts_once():
    tree = Writing()
    tree.dead = {8}

    assert verdicts_of(tree, {7: 6, 8: 6}, {7: 6}, {7: 6}) == [None, None, None]


def test_a_process_missing_from_one_reading_is_no_loss():
    assert verdicts_of(Writing(), {7: 2, 8: 4}, {7: 2}, {7: 6}, {7: 6}) == [None] * 4


def test_a_count_that_is_gone_is_a_loss_that_stays():
    assert verdicts_of(Writing(), {7: 0, 8: 6}, {7: 0}, {7: 0}, {7: 5}) == [None] * 3 + ["disk"]


def test_new_processes_do_not_make_up_for_lost_counts():
    """At each reading there are two processes that have written 2 MB each."""
    readings = [{number: 2, number + 1: 2} for number in range(7, 13, 2)]

    assert verdicts_of(Writing(), *readings) == [None, None, "disk"]


def test_where_no_file_can_be_made_none_are_counted():
    assert meter(MB, MB).glance_s is None


def test_the_meter_begins_before_the_tree_does(monkeypatch: pytest.MonkeyPatch):
    """What a fast program writes while the machine is busy must not count as there before."""
    order: list[str] = []

    def begun(name: str) -> Callable[..., None]:
        def note(*_: object, **__: object) -> None:
            order.append(name)
            if name == "program":
                raise RuntimeError

        return note

    def leave(code: int) -> NoReturn:
        raise SystemExit(code)

    monkeypatch.setattr(supervisor, "_surround", lambda *_: SimpleNamespace(proc=None))
    monkeypatch.setattr(supervisor, "Meter", begun("meter"))
    monkeypatch.setattr(supervisor, "_start", begun("program"))
    monkeypatch.setattr(supervisor, "say", begun("end"))
    monkeypatch.setattr(os, "_exit", leave)
    job = SimpleNamespace(service_pid=0, policy=None)
    with pytest.raises(SystemExit):
        supervisor.supervise(job, SimpleNamespace(status=0), SimpleNamespace(contained=False))  # type: ignore[arg-type]
    assert order == ["meter", "program", "end"]
