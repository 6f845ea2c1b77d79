"""The decorator, the context and the services."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import FrozenInstanceError
from typing import Any

import pytest
from pydantic import Field

from app.core.errors import ProjectRequired, ToolFailed
from app.toolkit.context import Progress, ToolContext
from app.toolkit.services import Services
from app.toolkit.tool import PermissionClass, SideEffectScope, ToolArgs, tool


class GreetArgs(ToolArgs):
    title: str = Field(description="Whom to greet.", min_length=1)
    times: int = Field(default=1, ge=1, le=3, description="How often.")


@tool(category="custom", permission=PermissionClass.READ, side_effect=SideEffectScope.NONE)
async def greet(args: GreetArgs, _ctx: ToolContext) -> str:
    """Greet somebody."""
    return "hello " * args.times + args.title


@tool()
async def count(args: GreetArgs, _ctx: ToolContext) -> AsyncIterator[str]:
    """Count."""
    for number in range(args.times):
        yield str(number)


@pytest.mark.requirement("VAL-09")
def test_the_schema_a_model_sees_is_the_argument_models():
    assert greet.parameters == {
        "type": "object",
        "properties": {
            "title": {"type": "string", "description": "Whom to greet.", "minLength": 1},
            "times": {
                "type": "integer",
                "description": "How often.",
                "default": 1,
                "minimum": 1,
                "maximum": 3,
            },
        },
        "required": ["title"],
        "additionalProperties": False,
    }


@pytest.mark.requirement("REG-01", "REG-19")
def test_a_decorated_function_is_a_tool_with_ten_manifest_fields():
    assert greet.manifest() == {
        "name": "greet",
        "description": "Greet somebody.",
        "category": "custom",
        "parameters": greet.parameters,
        "return_schema": None,
        "permission_class": "READ",
        "side_effect_scope": "NONE",
        "requires_confirmation": False,
        "is_streaming": False,
        "tags": [],
    }
    assert (count.category, count.is_streaming) == ("general", True)


async def test_a_tool_runs_on_what_its_validator_accepted():
    arguments = greet.validate(b'{"title": "you", "times": 2}')
    assert await greet.function(arguments, ToolContext("c", "c")) == "hello hello you"  # type: ignore[misc]


def test_a_tool_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        greet.name = "other"  # type: ignore[misc]


@pytest.mark.parametrize("level", PermissionClass)
@pytest.mark.requirement("REG-20")
def test_only_reading_has_no_side_effects(level):
    made = tool(permission=level)(greet.function)
    assert made.has_side_effects is (level is not PermissionClass.READ)


def test_a_function_that_cannot_be_a_tool_is_refused():
    def blocking(args: GreetArgs, ctx: ToolContext) -> str:
        """Blocks."""
        return ""

    async def undocumented(args: GreetArgs, ctx: ToolContext) -> str:
        return ""

    async def untyped(args: dict[str, Any], ctx: ToolContext) -> str:
        """Takes a dict."""
        return ""

    async def bare() -> str:
        """Takes nothing."""
        return ""

    for function, reason in (
        (blocking, "must be an async function"),
        (undocumented, "needs a docstring"),
        (untyped, "must be a ToolArgs model"),
        (bare, "must be a ToolArgs model"),
    ):
        with pytest.raises(TypeError, match=reason):
            tool()(function)  # type: ignore[arg-type]


def test_a_service_is_found_by_name_and_a_missing_one_is_a_clean_tool_error():
    services = Services()
    assert services.get("llm_client") is None
    with pytest.raises(ToolFailed, match=r"^LLM client not available$"):
        services.require("llm_client", str)
    services.register("llm_client", "client")
    assert services.get("llm_client") == "client"
    assert services.require("llm_client", str) == "client"


def test_a_service_of_another_kind_is_not_available():
    with pytest.raises(ToolFailed, match="not available"):
        Services(llm_client=1).require("llm_client", str)


async def test_progress_reaches_the_reporter_and_nobody_without_one():
    seen: list[Progress] = []

    async def report(progress: Progress) -> None:
        seen.append(progress)

    await ToolContext("c", "c", report=report).progress("copy", "half", current=1, total=2)
    await ToolContext("c", "c").progress("copy")
    assert seen == [Progress("copy", "half", 1, 2)]


def test_files_without_a_project_are_a_clean_error():
    with pytest.raises(ProjectRequired, match="project_id is required for file operations"):
        _ = ToolContext("c", "c").operations
