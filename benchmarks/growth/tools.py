"""Plugin tools of the measured installations; they do almost nothing."""

from __future__ import annotations

from pydantic import Field

from app.toolkit.context import ToolContext
from app.toolkit.tool import PermissionClass, SideEffectScope, Tool, ToolArgs, tool

PLUGIN = "from benchmarks.growth.tools import TOOLS\n"
"""Plugin file with the tools that the sessions call."""
TOOLS_PER_SET = 50


class NoteArgs(ToolArgs):
    order: int = Field(description="Number of the order.")
    text: str = Field(default="", max_length=2000, description="Text of the note.")
    tags: list[str] = Field(default_factory=list, description="Words to find the note by.")


async def _note(args: NoteArgs, ctx: ToolContext) -> dict[str, int]:
    """Record a note about an order; prefer it over a text file."""
    return {"order": args.order, "characters": len(args.text)}


NOTE = tool(category="notes", toolset="notes", name="record_note")(_note)
SEND = tool(
    category="notes",
    toolset="notes",
    name="send_note",
    permission=PermissionClass.EXTERNAL,
    side_effect=SideEffectScope.NETWORK,
    requires_confirmation=True,
)(_note)
TOOLS = (NOTE, SEND)


def numbered(count: int) -> tuple[Tool, ...]:
    """Return `count` tools with distinct names, in toolsets of `TOOLS_PER_SET`."""
    return tuple(
        tool(category="notes", toolset=f"notes_{number // TOOLS_PER_SET}", name=f"note_{number}")(
            _note
        )
        for number in range(count)
    )


def numbered_plugin(count: int) -> str:
    """Return the text of a plugin file with `count` further tools."""
    return f"from benchmarks.growth.tools import numbered\n\nTOOLS = numbered({count})\n"
