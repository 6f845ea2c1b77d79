"""Findings in a common form for all linters."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

Severity = Literal["error", "warning", "info"]


@dataclass(frozen=True, slots=True, order=True)
class LintFinding:
    """Finding; `line` and `column` start at 1; `fixable` by `lint_fix`."""

    path: str
    line: int
    column: int
    code: str
    severity: Severity
    message: str
    linter: str
    fixable: bool = False

    def to_data(self) -> dict[str, Any]:
        return {
            "path": self.path,
            "line": self.line,
            "column": self.column,
            "code": self.code,
            "severity": self.severity,
            "message": self.message,
            "linter": self.linter,
            "fixable": self.fixable,
        }

    def __str__(self) -> str:
        fixable = " [fixable]" if self.fixable else ""
        where = f"{self.path}:{self.line}:{self.column}"
        return f"{where}: {self.severity} {self.code}: {self.message}{fixable}"


@dataclass(frozen=True, slots=True)
class NotChecked:
    """Files that a linter did not check; `fix` describes how to enable the check."""

    linter: str
    files: int
    reason: str
    fix: str = ""

    def to_data(self) -> dict[str, Any]:
        return {
            "linter": self.linter,
            "files": self.files,
            "reason": self.reason,
            "fix": self.fix,
        }

    def __str__(self) -> str:
        counted = f"{self.files} file{'' if self.files == 1 else 's'}"
        return f"Not checked by {self.linter} ({counted}): {self.reason}. {self.fix}".rstrip()


@dataclass(slots=True)
class LintReport:
    """Findings of one call; `sandbox` is that of the last started linter."""

    findings: list[LintFinding] = field(default_factory=list)
    not_checked: list[NotChecked] = field(default_factory=list)
    checked: dict[str, int] = field(default_factory=dict)
    sandbox: dict[str, Any] | None = None

    def add(self, linter: str, files: int, findings: Iterable[LintFinding]) -> None:
        """Record that `linter` has checked `files` files."""
        self.findings.extend(findings)
        self.checked[linter] = self.checked.get(linter, 0) + files

    def skip(self, linter: str, files: int, reason: str, fix: str = "") -> None:
        """Record that `linter` has not checked `files` files."""
        self.not_checked.append(NotChecked(linter, files, reason, fix))
