"""The gates: each is run, and one that fails is seen."""

import sys

from scripts.check import Gate, Outcome, gates, run, table


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
