"""Each built-in tool, through the whole gate: once as it should go, once as it should not."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from typing import Any

import pytest

from app.execution.developer_services import developer_services
from app.operations.protocols.operations import Operations
from app.operations.screens.fetching import check_url
from app.operations.screens.pictures import PageRequest, Picture
from app.operations.screens.screens import Screens
from app.toolkit.ports import SCREEN_CAPTURE
from tests.execution.lab import Lab

Arguments = dict[str, Any]

CASES: dict[str, tuple[Arguments, Arguments]] = {
    "read_file": ({"path": "a.txt"}, {"path": "missing.txt"}),
    "write_file": ({"path": "new/b.txt", "content": "x"}, {"path": "folder", "content": "x"}),
    "edit_file": (
        {"path": "a.txt", "old_text": "hello", "new_text": "bye"},
        {"path": "a.txt", "old_text": "nowhere", "new_text": "bye"},
    ),
    "patch": (
        {"patch": "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-hello\n+bye\n"},
        {"patch": "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-nowhere\n+bye\n"},
    ),
    "list_dir": ({"path": "."}, {"path": "a.txt"}),
    "file_exists": ({"path": "a.txt"}, {"path": "../outside"}),
    "file_mkdir": ({"path": "made"}, {"path": "a.txt/made"}),
    "file_delete": ({"path": "a.txt"}, {"path": "folder"}),
    "find_files": ({"pattern": "*.txt"}, {"pattern": "*", "path": "../.."}),
    "grep": ({"pattern": "hello"}, {"pattern": "("}),
    "file_search": ({"query": "hello", "pattern": "*.TXT"}, {"pattern": "*", "path": "../.."}),
    "search_tools": ({"query": "read a file"}, {"query": ""}),
    "bash": ({"command": "cat a.txt"}, {"command": "exit 3"}),
    "powershell": ({"command": "Get-Content a.txt"}, {"command": "exit 3"}),
    "process": ({"action": "list"}, {"action": "poll", "process_id": "proc_none"}),
    "execute_python": ({"code": "print(1)"}, {"code": "1 / 0"}),
    "todo": (
        {"todos": [{"id": "1", "content": "x"}]},
        {"todos": [{"id": "1", "content": "x", "parent": "2"}]},
    ),
    "task": ({"action": "create", "title": "x"}, {"action": "get", "id": "task_none"}),
    "schedule": (
        {"action": "add", "title": "x", "start": "2026-11-30"},
        {"action": "remove", "id": "apt_none"},
    ),
    "forum": ({"action": "post", "title": "x", "body": "y"}, {"action": "read", "post": 1}),
    "calculator": ({"expression": "1+1"}, {"expression": "1/0"}),
    "lint": ({"path": "a.txt"}, {"path": "missing.py"}),
    "lint_fix": ({"path": "folder"}, {"path": "missing.py"}),
    "lsp": (
        {"operation": "workspaceSymbol", "query": "x", "server": "ty"},
        {"operation": "hover", "path": "missing.py", "line": 1},
    ),
    # With a path, which every action takes and one needs.
    "git": ({"action": "status", "path": "a.txt"}, {"action": "log"}),
    "screenshot": ({"url": "https://example.org"}, {"url": "javascript:x"}),
    "send_media": ({"file_paths": ["a.txt"]}, {"file_paths": ["missing.txt"]}),
}


# Off where its program is missing, with a reason that a test of its own looks at.
NEEDS = {"powershell": "pwsh"}
RUNNABLE = [name for name in CASES if name not in NEEDS or shutil.which(NEEDS[name])]


class StillScreens(Screens):
    """No browser: one picture of everything."""

    async def page(self, operations: Operations, request: PageRequest) -> Picture:
        check_url(request.url)
        return Picture(b"\x89PNG\r\n\x1a\n", request.width, request.height)


@pytest.fixture
async def furnished(house: Lab) -> AsyncIterator[Lab]:
    files = house.context["project"].operations.files
    await files.write("a.txt", b"hello\n")
    await files.write("folder/inside.txt", b"x\n")
    await files.write(".git/HEAD", b"ref: refs/heads/main\n")
    await files.make_dir(".git/objects")
    await files.make_dir(".git/refs")
    services, settings = house.gate.services, house.gate.settings
    async with developer_services(settings, services):
        services.register(SCREEN_CAPTURE, StillScreens(settings.screens))
        yield house


def test_every_tool_has_its_two_cases(house: Lab):
    assert set(CASES) == set(house.gate.registry.snapshot().tools)


@pytest.mark.requirement("TST-02")
@pytest.mark.parametrize("name", RUNNABLE)
async def test_a_tool_succeeds_and_is_recorded(furnished: Lab, name: str):
    outcome = await furnished.call(name, "c1", **CASES[name][0])
    assert (outcome.status, outcome.result.error) == ("success", None)
    rows = await furnished.rows("SELECT tool_name, status, success FROM tool_calls")
    assert rows == [(name, "success", 1)]


@pytest.mark.requirement("TST-02")
@pytest.mark.parametrize("name", RUNNABLE)
async def test_a_tool_fails_with_a_sentence_and_is_recorded(furnished: Lab, name: str):
    outcome = await furnished.call(name, "c1", **CASES[name][1])
    assert outcome.success is False
    assert outcome.status in ("error", "invalid_arguments")
    assert len(str(outcome.result.error)) > 5
    rows = await furnished.rows("SELECT tool_name, success FROM tool_calls")
    assert rows == [(name, 0)]
