"""`tollgate audit`, on the installation that the calls were made in."""

from __future__ import annotations

import json
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.program import environment, json_lines, tollgate
from tests.support import forked


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An installation in which something happened."""
    folder = tmp_path_factory.mktemp("used")
    assert tollgate(folder, "db", "upgrade").returncode == 0
    for number in range(3):
        assert tollgate(folder, "call", "calculator", f"expression={number}+1").returncode == 0
    assert tollgate(folder, "call", "bash", "command=rm -rf /").returncode == 3
    return folder


def changed(used: Path, folder: Path, *statements: str) -> Path:
    """A copy whose database somebody wrote to."""
    for name in ("tollgate.db", "audit.anchor"):
        (folder / name).write_bytes((used / name).read_bytes())
    with closing(sqlite3.connect(folder / "tollgate.db")) as connection, connection:
        for statement in statements:
            connection.execute(statement)
    return folder


def test_what_happened_is_shown_oldest_first(used: Path):
    done = tollgate(used, "audit")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines] == [str(n) for n in range(1, len(lines) + 1)]
    assert "calculator allow success" in lines[0]
    assert "bash deny denied" in lines[-1]


def test_filters_and_json_go_together(used: Path):
    found = json_lines(tollgate(used, "audit", "--json", "--tool", "calculator").stdout)
    assert [row["kind"] for row in found] == ["call.finished"] * 3
    found = json_lines(tollgate(used, "audit", "--json", "--limit", "1").stdout)
    assert [row["tool_name"] for row in found] == ["bash"]
    assert json_lines(tollgate(used, "audit", "--json", "--since", "2999-01-01").stdout) == []
    assert json_lines(tollgate(used, "audit", "--json", "--kind", "governance.").stdout) == []
    found = json_lines(tollgate(used, "audit", "--json", "--verdict", "deny").stdout)
    assert {row["tool_name"] for row in found} == {"bash"}
    assert json_lines(tollgate(used, "audit", "--json", "--subject", "rul_1").stdout) == []


def test_a_chain_that_holds_is_said_to(used: Path):
    done = tollgate(used, "audit", "--verify")
    assert done.returncode == 0
    assert "chain verified" in done.stdout
    found = json.loads(tollgate(used, "audit", "--verify", "--json").stdout)
    assert found["ok"] is True
    assert found["anchors"] == 4


def test_a_broken_chain_is_exit_code_1_and_says_where(used: Path, tmp_path: Path):
    folder = changed(used, tmp_path, "UPDATE audit SET actor = 'eve' WHERE seq = 2")
    done = tollgate(folder, "audit", "--verify")
    assert done.returncode == 1
    assert "BROKEN at row 2" in done.stdout
    assert json.loads(tollgate(folder, "audit", "--verify", "--json").stdout)["broken"]["seq"] == 2


def test_a_cut_tail_is_found_by_what_was_noted_outside_the_database(used: Path, tmp_path: Path):
    folder = changed(
        used,
        tmp_path,
        "DELETE FROM audit WHERE seq > 2",
        "UPDATE audit_head SET seq = 2, hash = (SELECT hash FROM audit WHERE seq = 2)",
    )
    done = tollgate(folder, "audit", "--verify")
    assert done.returncode == 1
    assert "BROKEN at row 3" in done.stdout


def test_without_a_database_nothing_is_made(tmp_path: Path):
    done = tollgate(tmp_path, "audit", "--verify")
    assert done.returncode == 2
    assert "tollgate init" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "words",
    [
        ["--verify", "--follow"],
        ["--since", "yesterday"],
        ["--limit", "0"],
        ["--verdict", "denied"],
    ],
)
def test_what_makes_no_sense_is_a_usage_error(used: Path, words: list[str]):
    assert tollgate(used, "audit", *words).returncode == 2


def test_following_shows_what_comes(used: Path, tmp_path: Path):
    folder = changed(used, tmp_path)
    following = forked.start(
        ["audit", "--follow", "--json", "--limit", "1"],
        cwd=folder,
        environment=environment(folder, PYTHONUNBUFFERED="1"),
        stdout=subprocess.PIPE,
    )
    try:
        assert json.loads(following.stdout.readline())["tool_name"] == "bash"
        tollgate(folder, "call", "calculator", "expression=20+22")
        row = json.loads(following.stdout.readline())
    finally:
        following.kill()
        following.communicate()
    assert json.loads(row["detail"])["args"] == {"expression": "20+22"}
