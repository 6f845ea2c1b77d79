"""How soon the meter looks again."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

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
    tree_meter = Meter(policy, tree, lambda: next(due))

    assert tree_meter.excess() is None
    assert tree.shared_counted == 1


def test_a_tree_that_makes_files_is_counted_more_often_until_it_rests(tmp_path, monkeypatch):
    free = 10_000
    monkeypatch.setattr(os, "statvfs", lambda _folder: SimpleNamespace(f_ffree=free, f_bavail=1))
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
    monkeypatch.setattr(os, "statvfs", lambda _folder: SimpleNamespace(f_ffree=free, f_bavail=1))
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
    monkeypatch.setattr(os, "statvfs", lambda _folder: SimpleNamespace(f_ffree=free, f_bavail=1))
    monkeypatch.setattr(time, "time_ns", lambda: 0)
    policy = Policy("lenient", (), inodes=3, writable=(str(tmp_path),))
    tree_meter = Meter(policy, Reading(MB, MB))

    free += 5_000
    assert tree_meter.glance() is None

    for number in range(4):
        (tmp_path / str(number)).touch()
    free -= 4
    assert tree_meter.glance() == "files"


class Summing(Meter):
    """Meter of a tree whose readings sum up to these counts of megabytes, one after the other."""

    def __init__(self, *counts: int) -> None:
        super().__init__(Policy("lenient", (), disk_bytes=10 * MB), Reading(MB, MB))
        self._counts = iter(counts)

    def _sum(self, tree: list[tuple[int, int]]) -> int:
        return next(self._counts) * MB


def test_a_process_that_is_being_reaped_is_not_counted_twice_for_good():
    """The second look reads twice what one has written, and what there is right after."""
    tree = Summing(*(3, 3), *(9, 5), 5, *(9, 9), *(11, 11))

    assert [tree.excess() for _ in range(5)] == [None, None, None, None, "disk"]


def test_a_count_that_is_gone_is_a_loss_that_stays():
    tree = Summing(*(6, 6), *(0, 0, 0, 0), *(5, 5))

    assert [tree.excess() for _ in range(3)] == [None, None, "disk"]


def test_where_no_file_can_be_made_none_are_counted():
    assert meter(MB, MB).glance_s is None
