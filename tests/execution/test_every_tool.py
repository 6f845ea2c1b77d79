"""Each built-in tool, through the whole gate: once as it should go, once as it should not."""

from __future__ import annotations

from typing import Any

import pytest

from tests.execution.lab import Lab

Arguments = dict[str, Any]

CASES: dict[str, tuple[Arguments, Arguments]] = {
    "read_file": ({"path": "a.txt"}, {"path": "missing.txt"}),
    "write_file": ({"path": "new/b.txt", "content": "x"}, {"path": "folder", "content": "x"}),
    "edit_file": (
        {"path": "a.txt", "old_text": "hello", "new_text": "bye"},
        {"path": "a.txt", "old_text": "nowhere", "new_text": "bye"},
    ),
    "list_dir": ({"path": "."}, {"path": "a.txt"}),
    "file_exists": ({"path": "a.txt"}, {"path": "../outside"}),
    "file_mkdir": ({"path": "made"}, {"path": "a.txt/made"}),
    "file_delete": ({"path": "a.txt"}, {"path": "folder"}),
    "find_files": ({"pattern": "*.txt"}, {"pattern": "*", "path": "../.."}),
    "grep": ({"pattern": "hello"}, {"pattern": "("}),
    "search_tools": ({"query": "read a file"}, {"query": ""}),
    "bash": ({"command": "cat a.txt"}, {"command": "exit 3"}),
    "calculator": ({"expression": "1+1"}, {"expression": "1/0"}),
}


@pytest.fixture
async def furnished(house: Lab) -> Lab:
    files = house.context["project"].operations.files
    await files.write("a.txt", b"hello\n")
    await files.write("folder/inside.txt", b"x\n")
    return house


def test_every_tool_has_its_two_cases(house: Lab):
    assert set(CASES) == set(house.gate.registry.snapshot().tools)


@pytest.mark.requirement("TST-02")
@pytest.mark.parametrize("name", CASES)
async def test_a_tool_succeeds_and_is_recorded(furnished: Lab, name: str):
    outcome = await furnished.call(name, "c1", **CASES[name][0])
    assert (outcome.status, outcome.result.error) == ("success", None)
    rows = await furnished.rows("SELECT tool_name, status, success FROM tool_calls")
    assert rows == [(name, "success", 1)]


@pytest.mark.requirement("TST-02")
@pytest.mark.parametrize("name", CASES)
async def test_a_tool_fails_with_a_sentence_and_is_recorded(furnished: Lab, name: str):
    outcome = await furnished.call(name, "c1", **CASES[name][1])
    assert outcome.success is False
    assert outcome.status in ("error", "invalid_arguments")
    assert len(str(outcome.result.error)) > 5
    rows = await furnished.rows("SELECT tool_name, success FROM tool_calls")
    assert rows == [(name, 0)]
