"""`make bench-growth`: a line that grows where it must not fails, and every line runs."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import pytest

from benchmarks.growth.__main__ import main
from benchmarks.growth.build import Contents
from benchmarks.growth.line import Dimension, Growth, Line
from benchmarks.growth.lines import LINES
from benchmarks.growth.measure import LineGrowth, growth_of
from benchmarks.growth.server import Place, RunningService
from tests.support.binaries import in_ci

ROOT = Path(__file__).resolve().parents[2]
CONTENTS = Contents(10, "tg_1", "tg_2", "ses_1", {10: ("ses_2", 10)}, {"calls": 20})
TINY = (
    *("--sizes", "20,40", "--rules", "0,3", "--agents", "0,3", "--tools", "0,3"),
    *("--events", "20,40", "--rounds", "1"),
)
# One line of each kind; CI measures all of them.
AT_A_DESK = ("sessions", "call", "subscribe", "schedules", "rule-create", "events-first")


class FakeService:
    """Service whose requests cost what the line says."""

    def __init__(self) -> None:
        self.spent_s = 0.0

    def cpu(self) -> float:
        return self.spent_s


@dataclass(frozen=True, kw_only=True)
class FakeLine(Line):
    """Line with a known cost in seconds by size."""

    cost: Callable[[int], float]

    async def ask(self, place: Place, shared: Any) -> None:
        cast("FakeService", place.service).spent_s += self.cost(place.size)


def places(*sizes: int) -> list[Place]:
    return [Place(size, Path(), CONTENTS, cast("RunningService", FakeService())) for size in sizes]


def line(cost: Callable[[int], float], **fields: Any) -> FakeLine:
    return FakeLine(name="lists", about="`GET /lists`", cost=cost, **fields)


async def grown(measured: Line, *sizes: int) -> LineGrowth:
    return await growth_of(measured, places(*sizes), rounds=2)


def linear(size: int) -> float:
    return 0.001 * size


def constant(_: int) -> float:
    return 0.002


async def test_a_flat_line_that_grows_with_the_size_is_found():
    found = await grown(line(linear), 10, 100, 1000)
    assert found.cpu_ms == pytest.approx([10, 100, 1000])
    assert (round(found.ratio), found.allowed, found.is_ok) == (100, 1.5, False)


async def test_a_flat_line_that_stays_the_same_is_fine():
    found = await grown(line(constant), 10, 1000)
    assert (round(found.ratio, 3), found.is_ok) == (1.0, True)


async def test_a_line_that_returns_everything_may_grow_as_the_size_does_and_no_faster():
    fine = await grown(line(linear, expects=Growth.LINEAR), 10, 1000)
    assert (fine.allowed, round(fine.ratio), fine.is_ok) == (100, 100, True)
    square = await grown(line(lambda size: linear(size * size), expects=Growth.LINEAR), 10, 1000)
    assert not square.is_ok


async def test_a_page_is_not_compared_with_one_that_an_empty_installation_cannot_fill():
    found = await grown(line(lambda size: 0.1 if size else 0.001, fills=True), 0, 10, 100)
    assert (round(found.ratio, 3), found.is_ok) == (1.0, True)


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[Line]:
    """Lines that the command measures, in place of its own and without a service."""
    lines: list[Line] = []

    async def measure(chosen: list[Line], *_: Any, rounds: int) -> AsyncIterator[LineGrowth]:
        for one in chosen:
            yield await growth_of(one, places(10, 100), rounds=rounds)

    monkeypatch.setattr("benchmarks.growth.__main__.LINES", lines)
    # Without the settings of the service's garbage collector, which would stay.
    monkeypatch.setattr("benchmarks.growth.__main__.run", asyncio.run)
    monkeypatch.setattr("benchmarks.growth.__main__.measure", measure)
    return lines


def test_a_growing_line_fails_the_command_and_is_named(
    measured: list[Line], capsys: pytest.CaptureFixture[str], tmp_path: Path
):
    measured += [line(linear), replace(line(constant), name="calls", along=Dimension.RULES)]
    file = tmp_path / "growth.json"
    assert main(["--json", str(file)]) == 1
    printed = capsys.readouterr()
    assert printed.err.splitlines()[-1] == "These lines grow more than they may: lists"
    rows = [[cell.strip() for cell in row.split("|")[1:-1]] for row in printed.out.splitlines()]
    assert rows[2] == ["**by sessions**", "", "**10**", "**100**", "", "", "", ""]
    assert rows[3][0] == "lists: `GET /lists`"
    assert rows[3][-4:] == ["10.00", "1.5", "0 %", "**grows**"]
    assert rows[5][-4:] == ["1.00", "1.5", "0 %", "ok"]
    lines = json.loads(file.read_text(encoding="utf-8"))["lines"]
    assert [(one["name"], one["ok"]) for one in lines] == [("lists", False), ("calls", True)]


def test_lines_that_do_not_grow_pass(measured: list[Line]):
    measured.append(line(constant))
    assert main(["--rounds", "1"]) == 0


def test_only_the_lines_asked_for_are_measured(
    measured: list[Line], capsys: pytest.CaptureFixture[str]
):
    measured += [line(linear), replace(line(constant), name="calls")]
    assert main(["--only", "ca*"]) == 0
    printed = capsys.readouterr().out
    assert ("| calls: " in printed, "| lists: " in printed) == (True, False)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--only", "lisst"], "no line is called 'lisst'"),
        (["--sizes", "1000"], "argument --sizes"),
        (["--sizes", "1000,10"], "argument --sizes"),
        (["--rules", "a,b"], "argument --rules"),
    ],
)
def test_wrong_arguments_are_usage_errors(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
):
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


def test_no_two_lines_have_the_same_name():
    assert len({one.name for one in LINES}) == len(LINES)


def command(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "benchmarks.growth", *TINY, *words],
        cwd=ROOT,
        env=os.environ.copy(),
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def test_every_line_runs_on_folders_that_are_built_once(tmp_path: Path):
    names = [one.name for one in LINES if in_ci() or one.name in AT_A_DESK]
    file = tmp_path / "growth.json"
    kept = ("--keep", str(tmp_path / "kept"))

    # Figures of so few requests mean nothing: only the verdict must agree with them.
    first = command("--only", *names, "--json", str(file), *kept)
    assert first.returncode in (0, 1), first.stderr
    lines = json.loads(file.read_text(encoding="utf-8"))["lines"]
    assert [one["name"] for one in lines] == names
    assert (first.returncode == 0) == all(one["ok"] for one in lines)
    assert all(min(one["cpu_ms"]) > 0 for one in lines)
    assert [name for name in names if f"| {name}: " not in first.stdout] == []
    assert "folder of 40 sessions: 40 sessions," in first.stdout

    again = command("--only", "schedules", *kept)
    assert again.returncode in (0, 1), again.stderr
    assert "building" in first.stderr
    assert "building" not in again.stderr

    other = command("--only", "schedules", "--events", "20,60", *kept)
    assert other.returncode == 2
    assert "pass --events with these numbers, or remove the folder" in other.stderr
