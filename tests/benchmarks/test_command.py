"""`python -m benchmarks`: every benchmark runs, with tiny counts, and prints its lines."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.__main__ import BENCHMARKS, main
from benchmarks.harness import Benchmark, Result, Scale, Skipped
from tests.support.binaries import in_ci, require_binary

ROOT = Path(__file__).resolve().parents[2]
NAMES = [name for benchmark in BENCHMARKS for name in benchmark.names]
# Each starts two services: CI runs all of them, a desk the one that calls a tool.
# The other lines about connections run the same code with other counts.
WITH_SERVICES = ("ws_call", "rest_call", "ws_fanout", "ws_durable", "ws_echo")
GROUPS = (
    "dispatch*",
    "agent*",
    "governed*",
    "batch*",
    *(WITH_SERVICES if in_ci() else WITH_SERVICES[:1]),
    "event_log*",
    "bash*",
    "python*",
    "sandbox*",
    "egress*",
    "server*",
    "conn*",
    "risk_[!s]*",
    "decide*",
    "audit*",
    "read*",
    "memory*",
    "subagent*",
    "runs*",
    "worker*",
)
SEARCHES = ("grep*", "find*")
KEYS = ["name", "subject_us", "floor_us", "ratio", "unit", "runs", "spread"]


def measured(*patterns: str, **variables: str) -> list[dict[str, Any]]:
    words = [sys.executable, "-m", "benchmarks", *patterns, "--smoke", "--json"]
    around = {**os.environ, **variables}
    done = subprocess.run(
        words, cwd=ROOT, env=around, capture_output=True, encoding="utf-8", check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return [json.loads(line) for line in done.stdout.splitlines()]


def install_pages(folder: Path) -> None:
    """Documentation of two makers, as much as is asked for, whatever else the machine has."""
    text = "<p>" + "Each call of a tool takes one path through the gate. " * 60 + "</p>"
    forms = {
        "mdbook": f"<!-- Book generated using mdBook --><body><nav>Menu</nav><main>{text}</main>",
        "rustdoc": '<meta name="generator" content="rustdoc"><body><div>Menu</div>'
        f'<section id="main-content">{text}</section>',
    }
    for maker, page in forms.items():
        (folder / maker).mkdir(parents=True)
        for number in range(16):
            (folder / maker / f"{number}.html").write_text(page, encoding="utf-8")


def test_every_benchmark_prints_one_line_for_each_of_its_names():
    lines = measured(*GROUPS)
    # Scripts are measured where packages brought them.
    apart = (
        *("grep", "find", "patch", "extract", "risk_scripts"),
        *("ws_fanout_100", "ws_single", "ws_durable_100", "rest_call_64"),
        *(name for name in WITH_SERVICES if name not in GROUPS),
    )
    others = [name for name in NAMES if name.startswith(apart)]
    assert [line["name"] for line in lines] == [name for name in NAMES if name not in others]
    assert all(list(line) == KEYS and line["subject_us"] >= 0 for line in lines)


def test_searches_find_what_ripgrep_finds():
    require_binary("rg")
    lines = measured(*SEARCHES)
    assert [line["name"] for line in lines] == [
        name for name in NAMES if name.startswith(("grep", "find"))
    ]


def test_a_patch_is_held_against_the_program():
    require_binary("patch")
    assert [line["name"] for line in measured("patch*")] == ["patch_1000_hunks_wall"]


def test_the_content_of_installed_pages_is_found(tmp_path: Path):
    install_pages(tmp_path / ".rustup" / "toolchains")
    lines = measured("extract_f1*", "extract_confined", HOME=str(tmp_path))
    assert [line["name"] for line in lines] == [
        *("extract_f1", "extract_f1_blind", "extract_confined")
    ]


def test_names_are_listed_with_what_they_measure(capsys: pytest.CaptureFixture[str]):
    assert main(["--list"]) == 0
    printed = capsys.readouterr().out
    assert [name for name in NAMES if name not in printed] == []


def test_an_unknown_name_is_a_usage_error(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as ended:
        main(["dispach"])
    assert ended.value.code == 2
    assert "no benchmark is called 'dispach'" in capsys.readouterr().err


@pytest.fixture
def only_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    def two(scale: Scale) -> list[Result]:
        return [Result(name, 2.0, 1.0, "CPU us/call", scale.rounds) for name in ("one", "two")]

    def none(_: Scale) -> list[Result]:
        raise Skipped("the other program is not installed")

    samples = (Benchmark(("one", "two"), "two", two, {"one": 4}), Benchmark(("gone",), "", none))
    monkeypatch.setattr("benchmarks.__main__.BENCHMARKS", samples)


@pytest.mark.usefixtures("only_sample")
def test_one_name_of_a_benchmark_prints_one_line(capsys: pytest.CaptureFixture[str]):
    assert main(["two", "--json"]) == 0
    line = json.loads(capsys.readouterr().out)
    assert (line["name"], line["runs"]) == ("two", 5)


@pytest.mark.usefixtures("only_sample")
def test_a_table_shows_budgets_and_says_what_was_skipped(capsys: pytest.CaptureFixture[str]):
    assert main([]) == 0
    head, one, two, gone = capsys.readouterr().out.splitlines()
    assert head.split() == ["name", "subject", "floor", "ratio", "spread", "unit", "budget"]
    assert one.split() == ["one", "2.0", "1.0", "2.00", "-", "CPU", "us/call", "<=", "4"]
    assert two.split() == ["two", "2.0", "1.0", "2.00", "-", "CPU", "us/call"]
    assert gone == "gone: skipped, the other program is not installed"


@pytest.mark.usefixtures("only_sample")
def test_a_benchmark_asked_for_by_name_must_run(capsys: pytest.CaptureFixture[str]):
    assert main(["gone", "--json"]) == 1
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == (
        "",
        "gone: skipped, the other program is not installed\n",
    )


@pytest.mark.usefixtures("only_sample")
def test_stored_ratios_choose_the_lines_and_fail_when_one_grew(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    stored = tmp_path / "ratios.json"
    stored.write_text('{"one": 1.1, "two": 0.7}')
    assert main(["--against", str(stored), "--json"]) == 1
    printed = capsys.readouterr()
    assert [json.loads(line)["name"] for line in printed.out.splitlines()] == ["one", "two"]
    assert printed.err == "two: 2.00 is more than 1.75\n"


@pytest.mark.usefixtures("only_sample")
def test_a_stored_line_that_cannot_run_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    stored = tmp_path / "ratios.json"
    stored.write_text('{"gone": 1, "one": 2}')
    assert main(["--against", str(stored)]) == 1
    assert "gone: skipped" in capsys.readouterr().out


def test_each_stored_ratio_has_its_line():
    stored = json.loads((ROOT / "benchmarks" / "ratios.json").read_bytes())
    assert stored.keys() <= set(NAMES)
