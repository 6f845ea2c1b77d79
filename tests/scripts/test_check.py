"""The gates: each is run, and one that fails is seen."""

import shlex
import sys

import pytest
import yaml

from scripts.check import ROOT, Gate, Outcome, gates, main, run, table


def test_the_tests_are_a_gate_that_can_be_left_out():
    names = [gate.name for gate in gates(tests=True)]
    assert {"format", "lint", "imports", "types", "tests, branch coverage"} <= set(names)
    assert [gate.name for gate in gates(tests=False)] == names[:-1]


def test_a_gate_that_exits_with_an_error_has_failed():
    outcome = run(Gate("wrong", (sys.executable, "-c", "print('why'); raise SystemExit(3)")))
    assert (outcome.passed, outcome.output) == (False, "why\n")


def test_a_gate_whose_program_is_missing_has_failed(tmp_path):
    outcome = run(Gate("missing", (str(tmp_path / "nothing"),)))
    assert not outcome.passed
    assert "make check" in outcome.output


def test_the_table_tells_how_each_gate_went():
    rows = table([Outcome("lint", True, 0.5, ""), Outcome("types", False, 12.0, "")])
    assert [row.split() for row in rows.splitlines()] == [
        ["lint", "0.5", "s", "OK"],
        ["types", "12.0", "s", "FAIL"],
    ]


def test_one_gate_runs_alone(capsys):
    assert main(["--gate", "format"]) == 0
    assert [row.split()[0] for row in capsys.readouterr().out.splitlines()] == ["format"]


def test_a_gate_that_does_not_exist_is_refused_with_those_that_do(capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["--gate", "spelling"])
    assert "'imports'" in capsys.readouterr().err


def test_before_a_commit_the_gates_of_continuous_integration_run_and_nothing_is_fetched():
    text = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    repositories = yaml.safe_load(text)["repos"]
    assert [repository["repo"] for repository in repositories] == ["local"]
    entries = [shlex.split(hook["entry"]) for hook in repositories[0]["hooks"]]
    assert [entry[:-1] for entry in entries] == [
        ["python3", "scripts/bootstrap.py", "check", "--gate"]
    ] * len(entries)
    assert [entry[-1] for entry in entries] == [gate.name for gate in gates(tests=False)]
