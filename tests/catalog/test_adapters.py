"""Functions, classes and agent tool objects as tools."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from typing import Any

import pytest

from app.catalog.adapters import BaseTool, ToolDefinition, from_agent_tool, from_class, from_schema
from app.catalog.errors import InvalidTool
from app.catalog.registry import ToolRegistry
from app.core.errors import InvalidArguments, ProjectRequired, ToolFailed
from app.toolkit.context import ToolContext
from app.toolkit.result import ToolResult
from app.toolkit.services import Services
from app.toolkit.tool import PermissionClass, SideEffectScope, Tool
from tests.catalog.factories import EMPTY, context, echo, make_tool

TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


async def run(tool: Tool, arguments: bytes = b"{}", **facts: Any) -> ToolResult:
    result = await tool.function(tool.validate(arguments), context(**facts))  # type: ignore[misc]
    assert isinstance(result, ToolResult)
    return result


@pytest.mark.requirement("REG-01")
def test_a_definition_without_a_category_is_general():
    definition = ToolDefinition("greet", "Greets.", EMPTY, echo)
    assert definition.category == "general"
    registry = ToolRegistry()
    registry.register(definition.to_tool())
    assert [row["category"] for row in registry.snapshot().rows()] == ["general"]


@pytest.mark.requirement("REG-02")
def test_a_definition_renders_in_openai_form():
    assert ToolDefinition("greet", "Greets.", TEXT, echo).to_openai_format() == {
        "type": "function",
        "function": {"name": "greet", "description": "Greets.", "parameters": TEXT},
    }


@pytest.mark.parametrize(
    ("returned", "expected"),
    [
        (ToolResult.fail("no"), {"success": False, "data": None, "error": "no"}),
        (ToolResult.ok(1), {"success": True, "data": 1, "error": None}),
        (7, {"success": True, "data": 7, "error": None}),
        (None, {"success": True, "data": None, "error": None}),
        ("text", {"success": True, "data": "text", "error": None}),
        ({"rows": []}, {"success": True, "data": {"rows": []}, "error": None}),
    ],
)
@pytest.mark.requirement("REG-07", "REG-24")
async def test_whatever_a_handler_returns_becomes_a_result(returned, expected):
    result = await run(make_tool(handler=lambda _: returned))
    assert result.to_dict() == expected


async def test_a_sync_handler_runs_beside_the_loop_and_an_async_one_on_it():
    async def on_loop(_: dict[str, Any]) -> int:
        return threading.get_ident()

    beside = await run(make_tool(handler=lambda _: threading.get_ident()))
    inside = await run(make_tool(handler=on_loop))
    assert beside.data != threading.get_ident() == inside.data


async def test_a_lambda_that_gives_a_coroutine_and_a_callable_object_are_awaited():
    async def double(arguments: dict[str, Any]) -> str:
        return str(arguments["text"]) * 2

    class Doubler:
        async def __call__(self, arguments: dict[str, Any]) -> str:
            return await double(arguments)

    for handler in (lambda arguments: double({**arguments}), Doubler()):
        tool = make_tool(handler=handler, parameters=TEXT)
        assert (await run(tool, b'{"text": "ab"}')).text == "abab"


async def test_an_async_generator_streams_and_is_closed_with_its_reader():
    closed = False

    async def count(arguments: dict[str, Any]) -> AsyncIterator[str]:
        nonlocal closed
        try:
            yield arguments["text"]
            yield "more"
        finally:
            closed = True

    tool = make_tool(handler=count, parameters=TEXT)
    assert tool.is_streaming
    items = tool.function({"text": "first"}, context())
    assert await anext(items) == "first"  # type: ignore[arg-type]
    await items.aclose()  # type: ignore[union-attr]
    assert closed


@pytest.mark.parametrize("error", [SystemExit(3), StopIteration()])
async def test_a_handler_can_neither_end_the_service_nor_hang_its_caller(error):
    def leave(_: dict[str, Any]) -> None:
        raise error

    with pytest.raises(ToolFailed, match="'echo'"):
        await run(make_tool(handler=leave))


async def test_an_async_handler_cannot_end_the_service_either():
    async def leave(_: dict[str, Any]) -> None:
        raise SystemExit("bye")

    async def leave_midway(_: dict[str, Any]) -> AsyncIterator[str]:
        yield "one"
        raise SystemExit("bye")

    with pytest.raises(ToolFailed, match="tried to exit with 'bye'"):
        await run(make_tool(handler=leave))
    items = make_tool(handler=leave_midway).function({}, context())
    assert await anext(items) == "one"  # type: ignore[arg-type]
    with pytest.raises(ToolFailed, match="tried to exit"):
        await anext(items)  # type: ignore[arg-type]


async def test_other_errors_of_a_handler_reach_the_executor_as_they_are():
    def divide(_: dict[str, Any]) -> float:
        return 1 / 0

    with pytest.raises(ZeroDivisionError):
        await run(make_tool(handler=divide))


async def test_a_handler_obtains_a_service_through_its_context():
    def ask(_: dict[str, Any], ctx: ToolContext) -> str:
        return str(ctx.services.require("llm_client", str))

    tool = make_tool(handler=ask, pass_context=True)
    assert (await run(tool, services=Services(llm_client="model"))).text == "model"
    with pytest.raises(ToolFailed, match=r"^LLM client not available$"):
        await run(tool)


async def test_a_project_tool_gets_the_project_from_the_call_and_never_from_the_model():
    schema = {
        "properties": {"text": {}, "project_id": {"type": "string"}},
        "required": ["text", "project_id"],
    }
    tool = make_tool(parameters=schema, needs_project=True)
    assert "project_id" not in tool.parameters["properties"]
    assert tool.parameters["required"] == ["text"]
    with pytest.raises(InvalidArguments, match="unknown argument project_id"):
        tool.validate(b'{"text": "x", "project_id": "other"}')
    result = await run(tool, b'{"text": "x"}', project_id="mine")
    assert result.data == {"echo": {"text": "x", "project_id": "mine"}}
    with pytest.raises(ProjectRequired):
        await run(tool, b'{"text": "x"}')


async def test_an_open_schema_does_not_let_the_model_choose_the_project():
    tool = make_tool(closed=False, needs_project=True)
    result = await run(tool, b'{"project_id": "other"}', project_id="mine")
    assert result.data == {"echo": {"project_id": "mine"}}


@pytest.mark.requirement("REG-19", "REG-22")
def test_every_manifest_field_can_be_declared():
    tool = make_tool(
        "pay",
        category="custom",
        return_schema={"type": "string"},
        permission_class=PermissionClass.WRITE,
        side_effect_scope=SideEffectScope.DB_WRITE,
        requires_confirmation=True,
        tags=("money",),
    )
    assert tool.manifest() == {
        "name": "pay",
        "description": "Does pay.",
        "category": "custom",
        "parameters": {"type": "object", "properties": {}, "additionalProperties": False},
        "return_schema": {"type": "string"},
        "permission_class": "WRITE",
        "side_effect_scope": "DB_WRITE",
        "requires_confirmation": True,
        "is_streaming": False,
        "tags": ["money"],
    }


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"colour": "red"}, "unknown option"),
        ({"is_streaming": True}, "async generator"),
        ({"parameters": {"type": "string"}}, "object schema"),
        ({"handler": "not callable"}, "must be callable"),
    ],
)
def test_what_cannot_become_a_tool_is_refused(options, reason):
    with pytest.raises(InvalidTool, match=reason):
        make_tool(**options)


class Upper(BaseTool):
    name = "upper"
    description = "Upper case."
    parameters = TEXT

    async def execute(self, **kwargs: Any) -> str:
        return str(kwargs["text"]).upper()


@pytest.mark.parametrize("source", [Upper, Upper()])
@pytest.mark.requirement("REG-14")
async def test_a_class_with_four_members_is_a_tool(source):
    tool = from_class(source, category="text")
    assert (tool.name, tool.description, tool.category) == ("upper", "Upper case.", "text")
    assert (await run(tool, b'{"text": "abc"}')).text == "ABC"


@pytest.mark.parametrize("missing", ["name", "description", "parameters", "execute"])
@pytest.mark.requirement("REG-14")
def test_a_class_that_leaves_out_a_member_cannot_be_instantiated(missing):
    members = {name: getattr(Upper, name) for name in ("name", "description", "parameters")}
    members["execute"] = Upper.execute
    del members[missing]
    incomplete = type("Incomplete", (BaseTool,), members)
    with pytest.raises(TypeError, match=missing):
        incomplete()
    with pytest.raises(TypeError, match=missing):
        from_class(incomplete)


@pytest.mark.parametrize("returned", ["text", {"an": "object"}])
@pytest.mark.requirement("REG-24")
async def test_an_agent_tool_object_may_return_text_or_an_object(returned):
    class AnyTool:
        name = "any"
        description = "Anything."
        inputSchema = TEXT  # noqa: N815 - the frameworks' spelling

        async def execute(self, args: dict[str, Any]) -> Any:
            return returned

    tool = from_agent_tool(AnyTool())
    assert (await run(tool, b'{"text": "x"}')).data == returned


def test_from_schema_takes_its_first_arguments_in_the_seeds_order():
    tool = from_schema("greet", "Greets.", TEXT, echo, "custom")
    assert (tool.name, tool.description, tool.category) == ("greet", "Greets.", "custom")
