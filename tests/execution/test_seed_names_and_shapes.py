"""What users of the predecessors rely on: their names, shapes, limits and events."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from app.catalog.errors import DuplicateTool
from app.catalog.formats import render
from app.execution.calls import CallRequest
from app.execution.context import Project
from app.execution.hooks.model import HookConfig, HookContext, HookType
from app.operations.fakes.workspace import fake_workspace
from app.toolkit.result import RawResult, ToolResult
from tests.execution.lab import AnyArgs, Lab, counted, made
from tests.tools.shell import alive

ALIASES = {
    "file_read": "read_file",
    "file_write": "write_file",
    "file_list": "list_dir",
    "exec": "bash",
    "BashTool": "bash",
    "terminal": "bash",
    "shell": "bash",
    "edit": "edit_file",
    "EditTool": "edit_file",
    "glob": "find_files",
    "GlobTool": "find_files",
    "GrepTool": "grep",
}


@pytest.mark.requirement("B-01", "B-02", "EXE-13")
def test_every_older_name_calls_its_canonical_tool(house: Lab):
    registry = house.runtime.registry
    assert {alias: getattr(registry.get(alias), "name", None) for alias in ALIASES} == ALIASES
    for name in ("file_delete", "file_exists", "file_mkdir", *ALIASES.values()):
        assert registry.get(name) is not None
    offered = {entry["function"]["name"] for entry in registry.list_all()}
    assert offered.isdisjoint(ALIASES)


@pytest.mark.requirement("B-05")
def test_a_name_is_taken_by_tools_and_aliases_alike_unless_it_is_replaced(house: Lab):
    async def mine(args: AnyArgs, ctx: Any) -> str:
        return ""

    for name in ("bash", "exec", "Bash"):
        with pytest.raises(DuplicateTool, match="already registered"):
            house.runtime.registry.register(made(mine, name=name))
    house.runtime.registry.register(made(mine, name="bash"), replace=True)
    assert house.runtime.registry.get("exec") is None


@pytest.mark.requirement("B-17", "STR-05")
def test_the_shell_streams_and_takes_thirty_seconds_up_to_six_hundred(house: Lab):
    bash = house.runtime.registry.get("bash")
    assert bash is not None
    assert bash.manifest()["is_streaming"] is True
    limits = bash.parameters["properties"]["timeout"]
    assert (limits["default"], limits["minimum"], limits["maximum"]) == (30, 1, 600)
    streaming = {t.name for t in house.runtime.registry.snapshot().tools.values() if t.is_streaming}
    assert streaming == {"bash", "powershell", "execute_python", "execute_skill"}


@pytest.mark.requirement("B-30", "D-21")
def test_one_schema_is_rendered_for_every_provider_and_stays_small(house: Lab):
    tools = list(house.runtime.registry.snapshot().tools.values())
    openai, anthropic = render(tools, "openai"), render(tools, "anthropic")
    for tool, ours, theirs in zip(tools, openai, anthropic, strict=True):
        assert ours["function"]["parameters"] == theirs["input_schema"] == dict(tool.parameters)
        assert ours["function"]["name"] == theirs["name"] == tool.name
        assert len(json.dumps(theirs)) < 4000
    assert len(json.dumps(anthropic)) < 1500 * len(tools)


@pytest.mark.requirement("B-35", "F-8")
async def test_arithmetic_is_computed_and_what_has_no_end_is_refused(house: Lab):
    outcomes = await house.run(
        CallRequest("c1", "calculator", {"expression": "-2**3 + 7 // 2 * 5 % 4"}),
        CallRequest("c2", "calculator", {"expression": "9**9**9"}),
        CallRequest("c3", "calculator", {"expression": "2**100"}),
        CallRequest("c4", "calculator", {"expression": "'a'*3"}),
    )
    assert [outcome.success for outcome in outcomes] == [True, False, True, False]
    assert "-5" in outcomes[0].text
    assert str(2**100) in outcomes[2].text


@pytest.mark.requirement("F-9")
async def test_true_is_no_number_and_every_problem_is_named_at_once(lab: Lab):
    with counted() as (function, ran):
        lab.add(made(function, name="note"))
        outcome = await lab.call("note", text=5, number=True, extra=1)
    assert (outcome.status, ran) == ("invalid_arguments", [])
    details = outcome.result.data
    assert {problem["path"] for problem in details["errors"]} == {"text", "number", "extra"}


@pytest.mark.requirement("EXE-10", "EXE-02")
async def test_the_record_holds_how_long_a_call_took(house: Lab):
    outcome = await house.call("calculator", expression="6*7")
    record = outcome.record()
    assert record["execution_time"] > 0
    assert record["function"] == {"name": "calculator", "arguments": '{"expression":"6*7"}'}
    assert json.loads(record["result"])["success"] is True
    rows = await house.rows("SELECT result, execution_time FROM tool_calls")
    assert rows == [(record["result"], record["execution_time"])]


@pytest.mark.requirement("EXE-02")
@pytest.mark.parametrize(
    "given",
    [
        None,
        "text",
        {"n": 1, "nested": [None, True, 1.5, {"é": "ü \u2028"}]},
        [1, "two"],
        {1: b"bytes", "lone": "\ud800"},
        ToolResult.ok({"n": 1}, text="one"),
        ToolResult(True, {"n": 1}, error="but"),
        ToolResult.fail("no", data={"n": 1}),
        {"success": False, "error": "no"},
    ],
    ids=str,
)
async def test_the_record_holds_the_result_that_the_caller_gets(lab: Lab, given: Any):
    async def gives(args: AnyArgs, ctx: Any) -> Any:
        return given

    lab.add(made(gives))
    outcome = await lab.call("gives")
    rows = await lab.rows("SELECT result, success FROM tool_calls")
    assert rows == [(outcome.record()["result"], outcome.result.success)]


RAW = [
    RawResult("text", "x"),
    RawResult("json", {"a": [1, None]}),
    RawResult("image", {"media_type": "image/png", "data": "iVBORw0="}),
]


@pytest.mark.requirement("REG-25")
@pytest.mark.parametrize("raw", RAW, ids=lambda raw: raw.type)
async def test_a_raw_result_reaches_the_renderer_as_it_is(lab: Lab, raw: RawResult):
    async def draws(args: AnyArgs, ctx: Any) -> ToolResult:
        return ToolResult.ok({"n": 1}, text="drawn", raw_result=raw)

    lab.add(made(draws))
    await lab.call("draws")
    assert lab.watcher.of("tool_call_completed")[0]["raw_result"] == raw.to_dict()


@pytest.mark.requirement("EXE-11")
@pytest.mark.parametrize("source", ["builtin", "plugin", "mcp", "external"])
@pytest.mark.parametrize("caller", ["agent", "websocket", "rest", "cli", "subagent", "mcp"])
async def test_hooks_and_records_see_every_source_from_every_caller(
    lab: Lab, source: Any, caller: Any
):
    seen: list[str] = []

    async def note(context: HookContext) -> None:
        seen.append(f"{context.phase} {context.tool_name}")

    async def any_tool(args: AnyArgs, ctx: Any) -> str:
        return "x"

    lab.add(replace(made(any_tool), source=source))
    for kind in (HookType.PRE_TOOL_USE, HookType.POST_TOOL_USE):
        lab.runtime.hooks.register(HookConfig(kind.value, kind, note))
    await lab.run(CallRequest("c1", "any_tool", {}), caller=caller)
    assert seen == ["PRE any_tool", "POST any_tool"]
    assert await lab.rows("SELECT tool_name, status FROM tool_calls") == [("any_tool", "success")]
    (row,) = lab.runtime.registry.snapshot().rows()
    assert row["source"] == source


@pytest.mark.requirement("OPS-05")
async def test_every_file_tool_runs_on_operations_in_memory(house: Lab):
    operations = fake_workspace({"a.txt": "hello\n"})
    house.context["project"] = Project("memory", "/workspace", operations)
    calls = [
        ("read_file", {"path": "a.txt"}),
        ("write_file", {"path": "b/c.txt", "content": "x"}),
        ("edit_file", {"path": "a.txt", "old_text": "hello", "new_text": "bye"}),
        ("list_dir", {"path": "."}),
        ("file_exists", {"path": "b/c.txt"}),
        ("file_mkdir", {"path": "d"}),
        ("find_files", {"pattern": "*.txt"}),
        ("grep", {"pattern": "bye"}),
        ("file_delete", {"path": "b/c.txt"}),
    ]
    requests = [CallRequest(f"c{n}", name, args) for n, (name, args) in enumerate(calls)]
    outcomes = await house.run(*requests, workers=1)
    assert [(o.tool_name, o.status, o.result.error) for o in outcomes] == [
        (name, "success", None) for name, _ in calls
    ]
    assert list(house.runtime.settings.workspace_dir.iterdir()) == []


@pytest.mark.requirement("SHL-01")
async def test_a_harmless_command_runs_a_risky_one_asks_and_the_shell_can_be_off(house: Lab):
    harmless, risky = {"command": "echo hi"}, {"command": "rm -rf build"}
    assert (await house.call("bash", "c1", **harmless)).text.startswith("hi")
    running = asyncio.create_task(house.call("bash", "c2", **risky))
    await house.watcher.until("tool_confirmation_request")
    await house.answer("decline")
    assert (await running).status == "declined"
    await house.runtime.governance.set_enabled("bash", enabled=False)
    for number, name in enumerate(("bash", "shell", "exec")):
        assert (await house.call(name, f"d{number}", **harmless)).status == "disabled"


@pytest.mark.requirement("D-25")
async def test_no_process_outlives_a_cancelled_call(house: Lab):
    command = "sleep 300 & echo on; wait"
    running = asyncio.create_task(house.call("bash", command=command))
    await house.watcher.until("tool_result_streamed")
    root = house.runtime.settings.workspace_dir.resolve()
    assert len(alive.below(root)) >= 2
    house.runtime.executor.cancel(house.session.id, "c1")
    assert (await running).status == "cancelled"
    assert alive.below(root) == []


@pytest.mark.requirement("D-26", "F-12")
async def test_files_are_found_by_where_a_path_leads_not_by_how_it_reads(house: Lab, tmp_path):
    root = house.runtime.settings.workspace_dir
    secret = tmp_path / "secret.txt"
    secret.write_text("private", encoding="utf-8")
    evil = root.with_name(root.name + "_evil")
    evil.mkdir()
    (evil / "x.txt").write_text("private", encoding="utf-8")
    (root / "link.txt").symlink_to(secret)
    paths = [
        "link.txt",
        str(secret),
        f"../{evil.name}/x.txt",
        str(evil / "x.txt"),
        "../../../etc/passwd",
    ]
    for number, path in enumerate(paths):
        outcome = await house.call("read_file", f"c{number}", path=path)
        assert outcome.status == "error"
        assert "private" not in outcome.text
