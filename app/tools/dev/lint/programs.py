"""External linters: command lines and output formats."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from app.core.errors import ToolFailed
from app.operations.programs import own_program
from app.operations.protocols.operations import Operations
from app.tools.dev.lint.findings import LintFinding, LintReport, Severity
from app.tools.dev.lint.selection import Linter
from app.tools.dev.program_run import Program, ProgramOutput, run

_BATCH = 250
_WALL_S = 120
_MAX_BYTES = 16 << 20
_MAX_MESSAGE = 1_000

Read = Callable[[Any, str], Iterator[LintFinding]]


@dataclass(frozen=True, slots=True)
class LinterProgram:
    """One linter.

    Attributes:
        arguments: arguments between its name and the files.
        failed_from: exit statuses from here mean that the check failed.
        read: converts its JSON and the workspace root to findings.
        install: how to install it.
    """

    name: Linter
    arguments: tuple[str, ...]
    failed_from: int
    read: Read
    install: str

    @property
    def program(self) -> str:
        return own_program(self.name)


async def check(
    linter: LinterProgram, operations: Operations, paths: Sequence[str], report: LintReport
) -> None:
    """Run `linter` on `paths` and add the findings to `report`.

    A missing or broken linter is reported as not checked.
    """
    for start in range(0, len(paths), _BATCH):
        batch = paths[start : start + _BATCH]
        # `./` prevents a name from being an option, even without support of `--`.
        files = [path if path.startswith("/") else f"./{path}" for path in batch]
        argv = (linter.program, *linter.arguments, "--", *files)
        program = Program(argv, env=_ENVIRONMENT, wall_s=_WALL_S, max_bytes=_MAX_BYTES)
        try:
            done = await run(operations.processes, program)
            findings = _findings(linter, done, operations.root)
        except ToolFailed as error:
            missing = error.details.get("code") == "program_not_found"
            reason = "it is not installed" if missing else error.message
            report.skip(linter.name, len(paths) - start, reason, linter.install if missing else "")
            return
        report.sandbox = done.exit.sandbox.to_dict()
        report.add(linter.name, len(batch), findings)


_ENVIRONMENT = {"NO_COLOR": "1", "RUFF_NO_CACHE": "true"}


def _findings(linter: LinterProgram, done: ProgramOutput, root: str) -> list[LintFinding]:
    if done.truncated:
        raise ToolFailed("it reports too many findings; name fewer files", code="limit_reached")
    if done.exit.code >= linter.failed_from:
        raise ToolFailed(_words(done), code="linter_failed")
    try:
        return list(linter.read(json.loads(done.text), root))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        # Its output may be controlled by a configuration in the workspace.
        raise ToolFailed("it printed invalid output", code="linter_failed") from None


def _words(done: ProgramOutput) -> str:
    said = " ".join((done.stderr or done.text).split())
    return f"it failed: {said[:_MAX_MESSAGE] or f'exit status {done.exit.code}'}"


def _ruff(printed: Any, root: str) -> Iterator[LintFinding]:
    for item in printed:
        code = item["code"] or "syntax"
        fix = item.get("fix")
        yield LintFinding(
            _relative(item["filename"], root),
            *_place(item["location"]["row"], item["location"]["column"]),
            code=str(code),
            severity="error" if code in ("syntax", "invalid-syntax") else "warning",
            message=str(item["message"])[:_MAX_MESSAGE],
            linter="ruff",
            fixable=bool(fix) and fix.get("applicability") == "safe",
        )


_SHELLCHECK_LEVELS: dict[str, Severity] = {"error": "error", "warning": "warning"}


def _shellcheck(printed: Any, root: str) -> Iterator[LintFinding]:
    for item in printed["comments"]:
        yield LintFinding(
            _relative(item["file"], root),
            *_place(item["line"], item["column"]),
            code=f"SC{int(item['code'])}",
            severity=_SHELLCHECK_LEVELS.get(item["level"], "info"),
            message=str(item["message"])[:_MAX_MESSAGE],
            linter="shellcheck",
        )


def _eslint(printed: Any, root: str) -> Iterator[LintFinding]:
    for file in printed:
        for item in file["messages"]:
            yield LintFinding(
                _relative(file["filePath"], root),
                *_place(item.get("line") or 1, item.get("column") or 1),
                code=str(item.get("ruleId") or "syntax"),
                severity="error" if item["severity"] == 2 else "warning",
                message=str(item["message"])[:_MAX_MESSAGE],
                linter="eslint",
                fixable="fix" in item,
            )


def _place(line: Any, column: Any) -> tuple[int, int]:
    return max(1, int(line)), max(1, int(column))


def _relative(path: str, root: str) -> str:
    normal = posixpath.normpath(path)
    prefix = root.rstrip("/") + "/"
    return normal.removeprefix(prefix)


RUFF = LinterProgram(
    "ruff",
    ("check", "--output-format=json", "--no-cache", "--no-fix", "--force-exclude", "--quiet"),
    failed_from=2,
    read=_ruff,
    install="Install it with `pip install ruff`",
)
SHELLCHECK = LinterProgram(
    "shellcheck",
    ("--format=json1", "--color=never"),
    failed_from=2,
    read=_shellcheck,
    install="Install the package `shellcheck`",
)
ESLINT = LinterProgram(
    "eslint",
    ("--format=json", "--no-color", "--no-warn-ignored", "--no-error-on-unmatched-pattern"),
    failed_from=2,
    read=_eslint,
    install="Install it with `npm install --global eslint`",
)
PROGRAMS: dict[Linter, LinterProgram] = {
    linter.name: linter for linter in (RUFF, SHELLCHECK, ESLINT)
}
