"""`tollgate risk`: a verdict for a person, for a program, and for a stream of commands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.program import json_lines, tollgate
from tests.cli.test_import_budget import HEAVY, loaded


def test_a_command_is_explained_segment_by_segment(tmp_path: Path) -> None:
    done = tollgate(tmp_path, "risk", "cd src && rm -rf build")

    assert done.returncode == 0
    assert done.stdout.splitlines() == [
        "ask (risk: high)",
        "  0  cd src   [in /workspace]",
        "  1  rm -rf build   [in /workspace/src]",
        "  ask: rm deletes files permanently (delete, segment 1)",
        "  would delete /workspace/src/build",
    ]


def test_the_json_form_has_exactly_the_documented_fields(tmp_path: Path) -> None:
    done = tollgate(tmp_path, "risk", 'rm "$X" a', "--json")

    assert json.loads(done.stdout) == {
        "verdict": "ask",
        "risk": "medium",
        "segments": [{"argv": ["rm", None, "a"], "text": "rm … a", "cwd": "/workspace"}],
        "findings": [{"code": "delete", "segment": 0, "why": "rm deletes files permanently"}],
        "resolved_targets": ["/workspace/a"],
    }


@pytest.mark.parametrize(
    ("shell", "command", "verdict"),
    [
        ("bash", "git status", "safe"),
        ("bash", "rm -rf /", "deny"),
        ("powershell", "Get-ChildItem | Remove-Item", "ask"),
        ("cmd", "rd /s /q C:\\", "deny"),
    ],
)
def test_every_verdict_ends_with_exit_code_zero(
    tmp_path: Path, shell: str, command: str, verdict: str
) -> None:
    done = tollgate(tmp_path, "risk", command, "--shell", shell, "--json")

    assert (done.returncode, json.loads(done.stdout)["verdict"]) == (0, verdict)


def test_a_batch_answers_each_line_and_goes_on_after_a_bad_one(tmp_path: Path) -> None:
    lines = [
        '{"command": "ls"}',
        "not json",
        '{"command": 7}',
        '{"command": "ls", "shell": "tcl"}',
        '{"command": "ri x", "shell": "windows"}',
        '{"command": "rm \\ud800", "shell": "bash"}',
        "[" * 100_000,
        '{"command": "rm x", "shell": null}',
    ]
    done = tollgate(tmp_path, "risk", "--batch", stdin="\n".join(lines))

    assert done.returncode == 0
    answers = json_lines(done.stdout)
    assert [answer.get("verdict", "error") for answer in answers] == [
        "safe",
        "error",
        "error",
        "error",
        "ask",
        "ask",
        "error",
        "ask",
    ]
    assert answers[3]["error"] == {
        "code": "bad_request_line",
        "message": "shell must be bash, powershell or cmd, not 'tcl'",
    }


@pytest.mark.parametrize(
    "words", [("risk",), ("risk", "ls", "--batch"), ("risk", "ls", "--shell", "tcl")]
)
def test_a_usage_error_ends_with_exit_code_two(tmp_path: Path, words: tuple[str, ...]) -> None:
    done = tollgate(tmp_path, *words)

    assert (done.returncode, done.stdout) == (2, "")


def test_hidden_characters_of_a_command_are_written_out(tmp_path: Path) -> None:
    done = tollgate(tmp_path, "risk", "ls \u202e")

    assert "\u202e" not in done.stdout
    assert done.stdout.startswith("deny")


def test_judging_loads_neither_the_gate_nor_anything_heavy(installation: Path) -> None:
    modules = loaded(installation, "risk", "ls")

    assert "app.policy.risk.engine" in modules
    assert modules & (HEAVY | {"app.bootstrap", "app.main", "app.execution.executor"}) == set()
