"""Checks of selected files with all suitable linters."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from app.core.errors import ToolFailed
from app.operations.protocols.operations import Operations
from app.toolkit.context import ToolContext
from app.tools.dev.lint.findings import LintFinding, LintReport
from app.tools.dev.lint.programs import PROGRAMS, check
from app.tools.dev.lint.selection import Linter, Selection
from app.tools.dev.lint.syntax import MAX_BYTES, check_syntax

_BY_REQUEST: dict[Linter, str] = {
    "eslint": "its configuration is a program of the workspace, so it only runs when named "
    "explicitly"
}


async def check_all(selection: Selection, only: Linter | None, ctx: ToolContext) -> LintReport:
    """Run all linters and return their findings by path and line."""
    report = LintReport()
    for done, (linter, paths) in enumerate(selection.by_linter.items()):
        await ctx.progress("lint", linter, current=done, total=len(selection.by_linter))
        if linter in _BY_REQUEST and only != linter:
            report.skip(linter, len(paths), _BY_REQUEST[linter], f"Set linter={linter}")
        elif linter in PROGRAMS:
            await check(PROGRAMS[linter], ctx.operations, paths, report)
        else:
            await _check_data(linter, ctx.operations, paths, report)
    report.findings.sort()
    return report


async def _check_data(
    linter: Linter, operations: Operations, paths: Sequence[str], report: LintReport
) -> None:
    checked = 0
    findings: list[LintFinding] = []
    unread: dict[str, int] = {}
    for path in paths:
        try:
            data = await operations.files.read(path, max_bytes=MAX_BYTES)
        except ToolFailed as error:
            too_large = error.details.get("code") == "file_too_large"
            reason = f"larger than {MAX_BYTES} bytes" if too_large else error.message
            unread[reason] = unread.get(reason, 0) + 1
        else:
            findings += await asyncio.to_thread(check_syntax, linter, path, data)
            checked += 1
    if checked:
        report.add(linter, checked, findings)
    for reason, count in unread.items():
        report.skip(linter, count, reason)
