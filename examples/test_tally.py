"""A streaming tool is an async generator: a test collects what it yields."""
# ruff: noqa: INP001

import pytest

from app.core.errors import ToolFailed
from app.operations.fakes.workspace import fake_workspace
from app.toolkit.context import Output, ToolContext
from app.toolkit.result import ToolResult
from examples.tools.tally import TallyArgs, tally


async def items_of(**files: str) -> list[object]:
    context = ToolContext(
        tool_call_id="call_1", operation_id="op_1", bound_operations=fake_workspace(files)
    )
    return [item async for item in tally.function(TallyArgs(paths=[*files]), context)]  # type: ignore[union-attr]


async def test_each_file_is_a_line_and_the_result_comes_last() -> None:
    assert await items_of(a="one two", b="three") == [
        Output("a: 2\n", "stdout"),
        Output("b: 1\n", "stdout"),
        ToolResult.ok({"a": 2, "b": 1}),
    ]


async def test_an_empty_file_is_a_failure_with_a_code() -> None:
    with pytest.raises(ToolFailed, match="b is empty") as failed:
        await items_of(a="one", b="")
    assert failed.value.details["code"] == "empty_file"
