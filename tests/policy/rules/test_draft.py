"""A draft matches its call and little else."""

from __future__ import annotations

from typing import Any

import pytest

from app.policy.rules.draft import draft_of, example_of
from app.policy.rules.effect import view_of
from tests.policy.verdicts import facts, verdict

COMMANDS = [
    ("rm -rf build", ["rm", "-rf", "build"]),
    ("cd app && rm -rf build", ["rm", "-rf", "build"]),
    ("FOO=1 npm test", ["npm", "test"]),
    ("timeout 5 npm test", ["npm", "test"]),
    ("rm '*.pyc'", ["rm", "[*].pyc"]),
    ("rm $X", ["rm", "*"]),
    ("curl -H 'x: «redacted»' h", ["curl", "-H", "*", "h"]),
    ("printf ''", ["printf", "*"]),
]


@pytest.mark.parametrize(("command", "words"), COMMANDS, ids=str)
def test_a_command_is_drafted_word_by_word(command: str, words: list[str]):
    drafted = draft_of(view_of(facts(command)), "allow")
    assert drafted == {"tool": "bash", "decision": "allow", "match": {"argv": words}}


@pytest.mark.parametrize("command", ["rm -rf build", "cd app && rm -rf build", "rm '*.pyc'"])
def test_what_is_drafted_answers_its_own_question(command: str):
    drafted = draft_of(view_of(facts(command)), "allow")
    assert verdict(command) == "ask"
    assert verdict(command, drafted) == "allow"
    assert verdict(f"{command}x", drafted) == "ask"


def test_a_file_tool_is_drafted_by_its_paths():
    call = facts({"path": "/workspace/src/a[1].py", "content": "x"}, "write_file")
    drafted = draft_of(view_of(call), "ask", note="look first")
    assert drafted["match"] == {"paths": ["src/a[[]1].py"]}
    assert drafted["justification"] == "look first"


def test_a_masked_call_is_no_example():
    assert example_of({"a": 1}, None) == {"a": 1}
    assert example_of({}, "ls") == "ls"
    masked: dict[str, Any] = {"password": "«redacted»"}
    assert example_of(masked, None) is None
