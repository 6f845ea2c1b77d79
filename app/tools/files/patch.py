"""`patch`: changes several files at once, all or none."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import Field

from app.core.text import truncate
from app.toolkit.context import ToolContext
from app.toolkit.result import RawResult, ToolResult
from app.toolkit.tool import Alias, PermissionClass, SideEffectScope, ToolArgs, tool
from app.tools.arguments import Encoding
from app.tools.files.diff import FileDiff
from app.tools.files.patch_extraction import unwrapped
from app.tools.files.patch_files import PatchChange, PatchedFile
from app.tools.files.patch_model import FilePatch, checked, paths_of
from app.tools.files.patch_names import named_in
from app.tools.files.patch_unified import parse_unified
from app.tools.files.patch_v4a import parse_v4a
from app.tools.files.returns import PATCH_RESULT

MAX_PATCH_CHARS = 1 << 20
_SHOWN_DIFF = 6000
_MAX_DIFF = 40_000

READ_WHOLE_CHARS = 32 << 10
"""The policy parses patches on the event loop; in longer ones it only searches for names."""


class PatchArgs(ToolArgs):
    patch: str = Field(
        min_length=1,
        max_length=MAX_PATCH_CHARS,
        description="The patch: '*** Begin Patch' … '*** End Patch', or a unified diff.",
    )
    dry_run: bool = Field(default=False, description="Only report what would change.")
    overwrite_changed: bool = Field(
        default=False, description="Also patch files that changed since they were read."
    )
    encoding: Encoding | None = Field(
        default=None, description="Encoding of the files, such as gbk; default: each file's own."
    )


def parse_patch(text: str) -> tuple[FilePatch, ...]:
    r"""Return the files of a patch. Line endings `\r\n` of the patch itself are normalized.

    Raises:
        ToolFailed: `invalid_patch`: it has neither format, or is malformed; the message names the
            position.
    """
    patch = unwrapped(text)
    return checked(parse_v4a(patch.text) if patch.is_v4a else parse_unified(patch.text))


def paths_in_patch(arguments: Mapping[str, Any]) -> Sequence[str]:
    """Return the paths that a call of `patch` would touch, for rules on paths.

    Raises:
        ToolFailed: `invalid_patch`.
    """
    text = str(arguments.get("patch", ""))
    if len(text) > READ_WHOLE_CHARS:
        patch = unwrapped(text)
        return named_in(patch.text, is_v4a=patch.is_v4a)
    return paths_of(parse_patch(text))


@tool(
    category="file",
    toolset="files",
    permission=PermissionClass.WRITE,
    side_effect=SideEffectScope.LOCAL_STATE,
    kind="edit",
    needs_project=True,
    routing_hint="main-process-proxy",
    tags=("file", "write", "edit"),
    argument_aliases={"input": "patch", "diff": "patch", "patch_text": "patch"},
    aliases=(Alias("apply_patch"),),
    paths_in=paths_in_patch,
    return_schema=PATCH_RESULT,
)
async def patch(args: PatchArgs, ctx: ToolContext) -> ToolResult:
    """Change several files with one patch, atomically.

    Accepts '*** Begin Patch', sections '*** Update File: p', '*** Add File: p', '*** Delete File:
    p', '*** Move File: a -> b', '@@ line before' and ' ', '-', '+' lines, '*** End Patch'; or a
    unified diff. Include three context lines around each change. For one change prefer edit_file.
    Returns where each hunk applied, and diffs.
    """
    # Parsing a large patch would block the loop noticeably.
    files = await asyncio.to_thread(parse_patch, args.patch)
    change = PatchChange(files, args.encoding, dry_run=args.dry_run)
    fresh = not args.overwrite_changed
    await ctx.operations.files.apply(change.paths, change, fresh=fresh)
    diffs = await asyncio.to_thread(lambda: [item.diff() for item in change.patched])
    return _result(change.patched, diffs, dry_run=args.dry_run)


def _result(
    patched: Sequence[PatchedFile], diffs: Sequence[FileDiff], *, dry_run: bool
) -> ToolResult:
    added, removed = sum(diff.added for diff in diffs), sum(diff.removed for diff in diffs)
    whole = "\n".join(diff.text for diff in diffs if diff.text)
    reported = [item.to_dict(diff) for item, diff in zip(patched, diffs, strict=True)]
    data: dict[str, Any] = {
        "dry_run": dry_run,
        "files": reported,
        "added": added,
        "removed": removed,
        "diff": truncate(whole, _MAX_DIFF, "\n… (diff cut)"),
    }
    verb = "Would patch" if dry_run else "Patched"
    head = f"{verb} {len(patched)} file(s), +{added} -{removed} lines"
    lines = [_line(item, entry) for item, entry in zip(patched, reported, strict=True)]
    shown = truncate(whole, _SHOWN_DIFF, "\n… (diff cut)")
    raw = RawResult(
        "diff",
        {
            "path": reported[0]["path"] if len(reported) == 1 else f"{len(reported)} files",
            "diff": data["diff"],
            "added": added,
            "removed": removed,
            "truncated": any(diff.truncated for diff in diffs) or len(whole) > _MAX_DIFF,
            "files": [diff.raw_result().data for diff in diffs] if len(whole) <= _MAX_DIFF else [],
        },
    )
    return ToolResult.ok(data, text="\n".join([head, *lines, shown]), raw_result=raw)


def _line(item: PatchedFile, entry: dict[str, Any]) -> str:
    """Return one line about a file, with anything that needs attention."""
    moved = f"{entry['from']} -> " if "from" in entry else ""
    odd = [
        f"hunk {hunk.number} "
        + ", ".join(
            [f"offset by {hunk.offset:+d} lines"] * bool(hunk.offset)
            + [f"ignoring {what}" for what in hunk.overlooked]
        )
        for hunk in item.placed
        if hunk.offset or hunk.overlooked
    ]
    notes = f" ({'; '.join(odd[:5])}{'; …' if len(odd) > 5 else ''})" if odd else ""
    return f"{item.action()} {moved}{entry['path']}: +{entry['added']} -{entry['removed']}{notes}"
