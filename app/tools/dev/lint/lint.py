"""`lint`: finds mistakes without running code."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from app.core.field_problems import FieldError
from app.toolkit.context import ToolContext
from app.toolkit.result import RawResult, ToolResult
from app.toolkit.tool import Alias, ToolArgs, tool
from app.tools.arguments import PathText
from app.tools.dev.lint.check import check_all
from app.tools.dev.lint.findings import LintFinding, LintReport
from app.tools.dev.lint.selection import MAX_FILES, Linter, Selection, select
from app.tools.dev.returns import LINT_RESULT


class ChosenFiles(ToolArgs):
    """Arguments that select files."""

    path: PathText | None = Field(
        default=None, description="File, folder or glob; default: the whole workspace."
    )
    paths: Annotated[list[PathText], Field(min_length=1, max_length=200)] | None = Field(
        default=None, description="Several paths instead of path."
    )

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if self.path is not None and self.paths is not None:
            raise FieldError("set either path or paths", code="one_of", needed="path, paths")
        return self

    @property
    def wanted(self) -> list[str]:
        return self.paths or [self.path or "."]


class LintArgs(ChosenFiles):
    linter: Literal["auto", "ruff", "shellcheck", "eslint", "json", "yaml", "toml", "xml"] = Field(
        default="auto", description="auto chooses by file name."
    )
    limit: int = Field(default=100, ge=1, le=1000, description="Maximum findings.")
    offset: int = Field(default=0, ge=0, description="Findings to skip.")

    @property
    def only(self) -> Linter | None:
        return None if self.linter == "auto" else self.linter


@tool(
    category="code",
    toolset="dev",
    sandbox="bash",
    kind="read",
    needs_project=True,
    routing_hint="main-process-proxy",
    timeout_s=300,
    tags=("lint", "code", "read"),
    argument_aliases={"file_path": "path", "file_paths": "paths", "files": "paths"},
    aliases=(Alias("LintTool", families=("jarvis",)),),
    return_schema=LINT_RESULT,
)
async def lint(args: LintArgs, ctx: ToolContext) -> ToolResult:
    """Check files: lint Python with ruff, shell with shellcheck, JavaScript with eslint, and check
    the syntax of JSON, YAML, TOML and XML. Read-only; lint_fix applies fixes.

    Returns findings as path:line:column, and what could not be checked and why.
    """
    selection = await select(ctx.operations, args.wanted, args.only)
    report = await check_all(selection, args.only, ctx)
    page = report.findings[args.offset : args.offset + args.limit]
    data = _data(args, selection, report, page)
    table = [finding.to_data() for finding in page]
    text = _text(args, selection, report, page)
    return ToolResult.ok(data, text=text, raw_result=RawResult("table", table))


def _data(
    args: LintArgs, selection: Selection, report: LintReport, page: list[LintFinding]
) -> dict[str, Any]:
    return {
        "findings": [finding.to_data() for finding in page],
        "count": len(page),
        "total": len(report.findings),
        "errors": sum(finding.severity == "error" for finding in report.findings),
        "checked": report.checked,
        "not_checked": [item.to_data() for item in report.not_checked],
        "unknown": selection.unknown,
        "truncated": selection.truncated or args.offset + len(page) < len(report.findings),
        "sandbox": report.sandbox,
    }


def _text(args: LintArgs, selection: Selection, report: LintReport, page: list[LintFinding]) -> str:
    lines = [str(finding) for finding in page]
    reached = args.offset + len(page)
    if reached < len(report.findings):
        lines.append(f"[{len(report.findings)} in total: continue with offset={reached}]")
    files = sum(report.checked.values())
    by = ", ".join(f"{count} by {linter}" for linter, count in report.checked.items())
    lines.append(f"{len(report.findings)} findings in {files} files" + (f" ({by})" if by else ""))
    lines += [str(item) for item in report.not_checked]
    if selection.unknown:
        lines.append(f"No linter for: {', '.join(selection.unknown[:20])}")
    if selection.truncated:
        lines.append(f"[Only the first {MAX_FILES} files were checked: name a folder]")
    return "\n".join(lines)
