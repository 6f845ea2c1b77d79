"""What models see of the built-in tools, and what the gate is told about them."""

from __future__ import annotations

import pytest

from app.catalog.builtin import register_all_tools
from app.core.errors import ProjectRequired
from app.toolkit.context import ToolContext
from app.toolkit.tool import Tool
from app.tools.code import toolset as code
from app.tools.files import toolset as files
from app.tools.search import toolset as search
from app.tools.shell import toolset as shell
from tests.tools.calls import call

EVERY: dict[str, Tool] = dict(register_all_tools(installed_plugins=False).snapshot().tools)
TOOLS: dict[str, Tool] = {
    tool.name: tool for group in (files, search, shell, code) for tool in group.TOOLS
}
ARGUMENTS = {
    "read_file": {"path", "paths", "encoding", "start_line", "end_line", "limit"}
    | {"show_line_numbers", "pages"},
    "write_file": {"path", "content", "mode", "encoding", "line_ends", "overwrite_changed"},
    "edit_file": {"path", "old_text", "new_text", "replace_all", "expected_replacements"}
    | {"start_line", "end_line", "insert", "encoding", "overwrite_changed"},
    "patch": {"patch", "dry_run", "overwrite_changed", "encoding"},
    "list_dir": {"path", "pattern", "recursive", "max_depth", "max_entries"},
    "file_exists": {"path"},
    "file_mkdir": {"path"},
    "file_delete": {"path"},
    "find_files": {"pattern", "path", "query", "type", "sort", "head_limit", "offset"}
    | {"include_ignored"},
    "file_search": {"query", "pattern", "path", "type", "max_depth", "limit"},
    "grep": {"pattern", "path", "glob", "type", "output_mode", "case_insensitive"}
    | {"fixed_strings", "multiline", "context_before", "context_after", "head_limit", "offset"}
    | {"word", "invert", "max_columns"},
    "bash": {
        *("command", "working_dir", "timeout", "on_timeout", "background", "pty", "allow_hosts"),
        "keep_state",
    },
    "powershell": {
        *("command", "working_dir", "timeout", "on_timeout", "background", "pty", "allow_hosts"),
    },
    "process": {"action", "process_id", "data", "close_input", "pattern", "offset", "limit"}
    | {"timeout"},
    "execute_python": {"code", "strictness"},
}
REQUIRED = {
    "write_file": ["path", "content"],
    "edit_file": ["path", "new_text"],
    "patch": ["patch"],
    "file_exists": ["path"],
    "file_mkdir": ["path"],
    "file_delete": ["path"],
    "grep": ["pattern"],
    "bash": ["command"],
    "powershell": ["command"],
    "process": ["action"],
    "execute_python": ["code"],
}
SEED_NAMES = {
    "file_read": "read_file",
    "file_write": "write_file",
    "file_list": "list_dir",
    "edit": "edit_file",
    "EditTool": "edit_file",
    "apply_patch": "patch",
    "glob": "find_files",
    "GlobTool": "find_files",
    "GrepTool": "grep",
    "exec": "bash",
    "BashTool": "bash",
    "terminal": "bash",
    "shell": "bash",
    "PowerShellTool": "powershell",
    "pwsh": "powershell",
    "ProcessTool": "process",
}


@pytest.mark.requirement("CTX-02", "VAL-09")
def test_a_model_sees_the_intended_arguments_and_no_project():
    assert {name: set(tool.parameters["properties"]) for name, tool in TOOLS.items()} == ARGUMENTS
    assert {
        name: tool.parameters["required"]
        for name, tool in TOOLS.items()
        if "required" in tool.parameters
    } == REQUIRED


def test_every_argument_is_described_and_unknown_ones_are_refused():
    for tool in EVERY.values():
        assert tool.parameters["additionalProperties"] is False
        fields = tool.parameters["properties"]
        assert [name for name, field in fields.items() if not field.get("description")] == []


def test_descriptions_and_schemas_stay_small():
    assert {name for name, tool in EVERY.items() if len(tool.description) > 400} == set()
    assert {name for name, tool in EVERY.items() if len(str(tool.parameters)) > 2600} == set()


@pytest.mark.requirement("EXE-13")
def test_the_names_of_the_seeds_lead_to_the_tools():
    aliases = {alias.name: tool.name for tool in TOOLS.values() for alias in tool.aliases}
    assert aliases == SEED_NAMES


def test_a_synonym_of_an_argument_leads_to_an_argument():
    for tool in EVERY.values():
        arguments = set(tool.parameters["properties"])
        assert set(tool.argument_aliases.values()) <= arguments
        assert arguments.isdisjoint(tool.argument_aliases)


@pytest.mark.requirement("REG-20", "REG-21")
def test_what_a_tool_may_do_is_declared():
    declared = {
        name: (tool.permission_class.value, tool.side_effect_scope.value, tool.cacheable)
        for name, tool in TOOLS.items()
    }
    reads, writes = ("READ", "NONE", True), ("WRITE", "LOCAL_STATE", False)
    assert declared == {
        "read_file": reads,
        "write_file": writes,
        "edit_file": writes,
        "patch": writes,
        "list_dir": reads,
        "file_exists": reads,
        "file_mkdir": writes,
        "file_delete": writes,
        "find_files": reads,
        "grep": reads,
        "file_search": reads,
        "bash": ("EXTERNAL", "LOCAL_STATE", False),
        "powershell": ("EXTERNAL", "LOCAL_STATE", False),
        "process": ("EXTERNAL", "LOCAL_STATE", False),
        "execute_python": ("EXTERNAL", "LOCAL_STATE", False),
    }
    assert {name for name, tool in TOOLS.items() if not tool.needs_project} == {
        "execute_python",
        "process",  # acts on what the session has started
        "read_file",  # reads artifacts without one
    }
    assert {name for name, tool in TOOLS.items() if tool.is_streaming} == {
        "bash",
        "powershell",
        "execute_python",
    }
    assert {name for name, tool in TOOLS.items() if tool.routing_hint == "main-process-proxy"} == {
        "write_file",
        "edit_file",
        "patch",
        "file_mkdir",
        "file_delete",
        "bash",
        "powershell",
        "process",
        "execute_python",
    }
    assert TOOLS["bash"].shell == "bash"


@pytest.mark.requirement("CTX-06")
async def test_a_file_tool_without_a_project_fails():
    context = ToolContext(tool_call_id="call_1", operation_id="call_1")
    result = await call(TOOLS["file_exists"], context, path="a")
    assert (result.code, result.error) == (
        ProjectRequired.code,
        "project_id is required for file operations",
    )


def test_what_starts_programs_says_which_sandbox_it_needs():
    needed = {tool.name: tool.sandbox for tool in EVERY.values() if tool.sandbox is not None}

    programs = ["bash", "powershell", "git", "lint", "lint_fix", "lsp", "screenshot"]
    programs += ["text_to_image", "image_to_image", "execute_skill", "web_fetch", "crawl_batch"]
    assert needed == {**dict.fromkeys(programs, "bash"), "execute_python": "standard"}
