"""Memories as lines: `date|source|content`, for a model and for renderers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from app.domain.memory import Line, Memory
from app.toolkit.result import ToolResult
from app.tools.untrusted import untrusted

_DATE_CHARS = 10

ScopeName = Literal["agent", "user", "project"]
Tag = Annotated[str, Field(min_length=1, max_length=64, pattern=r"\S")]
KeyText = Annotated[str, Field(min_length=1, max_length=128, pattern=r"^[^\s|\x00-\x1f\x7f]+$")]
"""Key of a memory: letters of any script, no spaces."""


def line_of(memory: Memory) -> str:
    """Return one line; line breaks of the content become spaces."""
    content = " ".join(memory.content.split())
    return f"{memory.updated_at[:_DATE_CHARS]}|{memory.writer.source}|{content}"


def shown(line: Line) -> dict[str, Any]:
    """Return a line as data, without its author, because others can read it."""
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


def line_text(line: Line) -> str:
    """Return a line for a model: number, content, and how to change or delete it."""
    memory = line.memory
    tags = "".join(f" #{tag}" for tag in memory.tags)
    name = f"{memory.place.scope}/{memory.key} v{memory.version}"
    return f"[{line.number}] {line_of(memory)} ({name}{tags})"


def marked(text: str, memories: Sequence[Memory], session_id: str | None) -> str:
    """Return `text` of memories, marked as untrusted unless this session wrote them all.

    A memory of another session may originate from a page that its agent read.
    """
    own = session_id is not None and all(
        memory.writer.session_id == session_id for memory in memories
    )
    return text if own else untrusted(text, "memory")


def plain_lines(result: ToolResult) -> ToolResult:
    """Return the result of `memory_search`: only rows `[n] date|source|content`."""
    if not result.success:
        return result
    lines = [f"[{line['line']}] {line['text']}" for line in result.data["lines"]]
    data = {"results": lines, "total": result.data["total"]}
    return ToolResult.ok(data, text=result.text, raw_result=result.raw_result)
