"""`tollgate risk`: classifies a shell command by its effects and policy."""

from __future__ import annotations

import json
import sys
from typing import Any

import typer

from app.core.escaping import visible
from app.policy.risk.assess import assess_command
from app.policy.risk.model import RiskReport, ShellName, Verdict
from app.policy.risk.report import VERDICT_NAMES, report_json

SHELLS: dict[str, tuple[ShellName, ...]] = {
    "bash": ("bash",),
    "powershell": ("powershell",),
    "cmd": ("cmd",),
    # For case files with only two verdicts: the stricter one.
    "windows": ("powershell", "cmd"),
}


class BadLine(Exception):
    """Invalid request line of a batch; the message says what is wrong."""


def explain(command: str, shell: str, *, as_json: bool) -> int:
    """Print the verdict on one command."""
    report = _judged(command, shell)
    if as_json:
        typer.echo(_dumped(report_json(report)))
        return 0
    for line in _lines(report):
        typer.echo(line)
    return 0


def explain_batch() -> int:
    """Read JSON objects from standard input, one per line; print a verdict or error for each."""
    for raw in sys.stdin.buffer:
        line = raw.strip()
        if not line:
            continue
        try:
            command, shell = _request(line)
        except BadLine as problem:
            typer.echo(_dumped({"error": {"code": "bad_request_line", "message": str(problem)}}))
            continue
        typer.echo(_dumped(report_json(_judged(command, shell))))
    return 0


def _judged(command: str, shell: str) -> RiskReport:
    order = tuple(Verdict)
    reports = [assess_command(command, shell=name) for name in SHELLS[shell]]
    return max(reports, key=lambda report: order.index(report.verdict))


def _request(line: bytes) -> tuple[str, str]:
    """Return the command and shell of one line.

    Raises:
        BadLine: The line is not a JSON object, "command" is not text, or the shell is unknown.
    """
    try:
        document = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadLine(f"not valid JSON: {error}") from None
    command = document.get("command") if isinstance(document, dict) else None
    if not isinstance(command, str):
        raise BadLine('needs an object {"command": text, "shell": "bash"|"powershell"|"cmd"}')
    shell = document.get("shell") or "bash"
    if not isinstance(shell, str) or shell not in SHELLS:
        raise BadLine(f"shell must be bash, powershell or cmd, not {shell!r}")
    return command, shell


def _dumped(document: dict[str, Any]) -> str:
    # Escaped: a command may contain text that a terminal or encoding rejects.
    return json.dumps(document)


def _lines(report: RiskReport) -> list[str]:
    lines = [f"{VERDICT_NAMES[report.verdict]} (risk: {report.risk.value})"]
    for number, segment in enumerate(report.segments):
        where = "?" if segment.cwd is None else segment.cwd
        lines.append(f"  {number}  {visible(segment.text)}   [in {visible(where)}]")
    for finding in report.findings:
        place = "whole command" if finding.segment is None else f"segment {finding.segment}"
        lines.append(f"  {finding.verdict.value}: {visible(finding.why)} ({finding.code}, {place})")
    lines.extend(f"  would delete {visible(target)}" for target in report.resolved_targets)
    return lines
