"""`lint_fix`: applies the linters' safe fixes."""

from __future__ import annotations

import asyncio
import json
from typing import Any, Literal

from pydantic import Field

from app.core.errors import ToolFailed
from app.operations.protocols.files import Edited
from app.operations.protocols.operations import Operations
from app.toolkit.context import ToolContext
from app.toolkit.result import RawResult, ToolResult
from app.toolkit.tool import PermissionClass, SideEffectScope, tool
from app.tools.dev.lint.check import check_all
from app.tools.dev.lint.lint import ChosenFiles
from app.tools.dev.lint.programs import ESLINT, RUFF
from app.tools.dev.lint.selection import Linter, select
from app.tools.dev.program_run import Program, ProgramOutput, run
from app.tools.dev.returns import LINT_FIX_RESULT
from app.tools.files.diff import FileDiff, diff_of_edit

_MAX_BYTES = 2 << 20
_MAX_FILES = 200
_WALL_S = 60


class LintFixArgs(ChosenFiles):
    linter: Literal["ruff", "eslint"] = Field(
        default="ruff", description="Linter that fixes the files."
    )


@tool(
    category="code",
    toolset="dev",
    sandbox="bash",
    permission=PermissionClass.WRITE,
    side_effect=SideEffectScope.LOCAL_STATE,
    kind="edit",
    needs_project=True,
    routing_hint="main-process-proxy",
    timeout_s=300,
    tags=("lint", "code", "write"),
    argument_aliases={"file_path": "path", "file_paths": "paths", "files": "paths"},
    return_schema=LINT_FIX_RESULT,
)
async def lint_fix(args: LintFixArgs, ctx: ToolContext) -> ToolResult:
    """Apply the safe fixes for lint findings: Python with ruff, JavaScript with eslint. Call lint
    first to see the findings.

    Returns a diff of each changed file, and the number of remaining findings.
    """
    selection = await select(ctx.operations, args.wanted, args.linter)
    before = await check_all(selection, args.linter, ctx)
    if before.not_checked:
        raise ToolFailed(str(before.not_checked[0]), code="linter_unavailable")
    fixable = sorted({finding.path for finding in before.findings if finding.fixable})
    diffs: list[FileDiff] = []
    for done, path in enumerate(fixable[:_MAX_FILES]):
        await ctx.progress("fix", path, current=done, total=len(fixable))
        edited = await _repair(args.linter, ctx.operations, path)
        if edited is not None:
            diffs.append(await asyncio.to_thread(diff_of_edit, edited, "utf-8"))
    after = await check_all(selection, args.linter, ctx)
    data: dict[str, Any] = {
        "files": [
            {"path": diff.path, "added": diff.added, "removed": diff.removed} for diff in diffs
        ],
        "changed": len(diffs),
        "repaired": max(0, len(before.findings) - len(after.findings)),
        "left": len(after.findings),
        "truncated": len(fixable) > _MAX_FILES or selection.truncated,
        "sandbox": before.sandbox,
    }
    return ToolResult.ok(data, text=_text(data), raw_result=_diff(diffs))


async def _repair(linter: Linter, operations: Operations, path: str) -> Edited | None:
    """Write the linter's output, unless the file has changed meanwhile."""
    before = await operations.files.read(path, max_bytes=_MAX_BYTES)
    after = await (_ruff if linter == "ruff" else _eslint)(operations, path, before)
    if after == before:
        return None

    def replace(now: bytes) -> bytes:
        if now != before:
            raise ToolFailed(
                f"{path!r} changed while it was being fixed; call lint_fix again",
                code="changed_meanwhile",
                path=path,
            )
        return after

    return await operations.files.edit(path, replace)


async def _ruff(operations: Operations, path: str, data: bytes) -> bytes:
    arguments = ("check", "--fix-only", "--no-cache", "--force-exclude", "--quiet")
    argv = (RUFF.program, *arguments, f"--stdin-filename={path}", "-")
    done = await _run(operations, argv, data)
    if done.exit.code != 0:
        raise _failed("ruff", path, done)
    # A fix never empties a file: that indicates another failure.
    return done.stdout if done.stdout or not data.strip() else data


async def _eslint(operations: Operations, path: str, data: bytes) -> bytes:
    arguments = ("--stdin", f"--stdin-filename={path}", "--fix-dry-run", "--format=json")
    done = await _run(operations, (ESLINT.program, *arguments, "--no-color"), data)
    if done.exit.code >= ESLINT.failed_from:
        raise _failed("eslint", path, done)
    try:
        output = json.loads(done.text)[0].get("output")
    except (ValueError, LookupError, AttributeError, TypeError, RecursionError):
        raise _failed("eslint", path, done) from None
    return output.encode() if isinstance(output, str) else data


async def _run(operations: Operations, argv: tuple[str, ...], data: bytes) -> ProgramOutput:
    program = Program(argv, stdin=data, wall_s=_WALL_S, max_bytes=2 * _MAX_BYTES)
    done = await run(operations.processes, program)
    if done.truncated:
        raise ToolFailed(f"{argv[0]!r} printed too much output", code="limit_reached")
    return done


def _failed(linter: str, path: str, done: ProgramOutput) -> ToolFailed:
    said = " ".join(done.stderr.split())[:500]
    return ToolFailed(f"{linter} could not fix {path!r}: {said}", code="linter_failed")


def _diff(diffs: list[FileDiff]) -> RawResult:
    return RawResult(
        "diff",
        {
            "diff": "\n".join(diff.text for diff in diffs),
            "added": sum(diff.added for diff in diffs),
            "removed": sum(diff.removed for diff in diffs),
            "truncated": any(diff.truncated for diff in diffs),
        },
    )


def _text(data: dict[str, Any]) -> str:
    lines = [f"{file['path']}: +{file['added']} -{file['removed']}" for file in data["files"]]
    lines.append(
        f"Fixed {data['repaired']} findings in {data['changed']} files, {data['left']} left"
    )
    return "\n".join(lines)
