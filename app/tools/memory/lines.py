"""Memory as lines: `date|source|content`, for a model and for renderers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from app.toolkit.result import ToolResult
from app.tools.memory.ports import Line, Memory
from app.tools.untrusted import untrusted

_DATE_CHARS = 10

ScopeName = Literal["agent", "user", "project"]
Tag = Annotated[str, Field(min_length=1, max_length=64, pattern=r"\S")]
KeyText = Annotated[str, Field(min_length=1, max_length=128, pattern=r"^[^\s|\x00-\x1f\x7f]+$")]
"""What names a memory: letters of any script, no spaces."""


def line_of(memory: Memory) -> str:
    """One line; line breaks of the content become spaces."""
    content = " ".join(memory.content.split())
    return f"{memory.updated_at[:_DATE_CHARS]}|{memory.writer.source}|{content}"


def shown(line: Line) -> dict[str, Any]:
    """A line as data. Who wrote it is not told: others read it."""
    memory = line.memory
    return {
        "line": line.number,
        "text": line_of(memory),
        "scope": memory.place.scope,
        "key": memory.key,
        "version": memory.version,
        "content": memory.content,
        "tags": list(memory.tags),
        "source": memory.writer.source,
        "updated_at": memory.updated_at,
    }


def told(line: Line) -> str:
    """A line for a model: its number, what it says, and how to change or forget it."""
    memory = line.memory
    tags = "".join(f" #{tag}" for tag in memory.tags)
    name = f"{memory.place.scope}/{memory.key} v{memory.version}"
    return f"[{line.number}] {line_of(memory)} ({name}{tags})"


def marked(text: str, memories: Sequence[Memory], session_id: str | None) -> str:
    """`text` of memories, as data from outside unless this very session wrote them all.

    What another session has kept may have been put there by a page that its agent read.
    """
    own = session_id is not None and all(
        memory.writer.session_id == session_id for memory in memories
    )
    return text if own else untrusted(text, "memory")


def plain_lines(result: ToolResult) -> ToolResult:
    """The shape of `memory_search`: rows `[n] date|source|content` and nothing else."""
    if not result.success:
        return result
    lines = [f"[{line['line']}] {line['text']}" for line in result.data["lines"]]
    data = {"results": lines, "total": result.data["total"]}
    return ToolResult.ok(data, text=result.text, raw_result=result.raw_result)
