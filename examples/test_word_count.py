"""A tool is tested with operations in memory: no disk, no service."""
# ruff: noqa: INP001

from app.operations.fakes.workspace import fake_workspace
from app.toolkit.context import ToolContext
from app.toolkit.result import ToolResult
from examples.tools.word_count import WordCountArgs, word_count


async def test_lines_words_and_bytes_are_counted() -> None:
    context = ToolContext(
        tool_call_id="call_1",
        operation_id="op_1",
        bound_operations=fake_workspace({"notes.txt": "one two\nthree\n"}),
    )
    result = await word_count.function(WordCountArgs(path="notes.txt"), context)  # type: ignore[misc]
    assert result == ToolResult.ok({"lines": 2, "words": 3, "bytes": 14})
