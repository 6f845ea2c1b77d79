"""Entry point of the risk analysis of commands and programs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

from app.policy.risk import integrity
from app.policy.risk.call import UNKNOWN, Payload, ask
from app.policy.risk.code import kept_code
from app.policy.risk.collected import ANY_HOME
from app.policy.risk.engine import Assessor
from app.policy.risk.known import known
from app.policy.risk.model import Given, RiskReport, ShellName
from app.policy.risk.scope import ShellScope
from app.policy.risk.syntax import Unreadable

MAX_BYTES = 64 * 1024
MAX_WRITTEN = 50
_NEW = "\0"
"""Placeholder for previously unknown file content."""
MAX_KEPT = 4_096
"""Longest command, in characters, whose full report is cached: at most a few megabytes."""


def assess_command(
    command: str,
    *,
    shell: ShellName = "bash",
    cwd: str = "/workspace",
    home: str | None = None,
    given: tuple[Given, ...] = (),
) -> RiskReport:
    """Assess `command`. Never raises.

    Asks for a command above `MAX_BYTES` (UTF-8), with more than `MAX_SEGMENTS` commands, and for
    everything that it cannot parse. Without `home`, a home directory is still recognised by `~`,
    `$HOME` and its usual places.

    Args:
        given: files among the `runs` of an earlier report, assessed together with it.
    """
    if given:
        return _kept_given(command, shell, cwd, home, given)
    if len(command) <= MAX_KEPT:
        return _kept(command, shell, cwd, home)
    return _kept_long(command, shell, cwd, home)


def assess_program(
    text: str, language: str, *, cwd: str = "/workspace", home: str | None = None
) -> RiskReport:
    """Assess a program in `language`, such as `python`. Never raises; asks like
    `assess_command`.
    """
    assessor = Assessor(home or ANY_HOME)
    scope = ShellScope({"HOME": assessor.home}, cwd, assessor.home)
    program = Payload(language, text=text)
    return _read(assessor, text, scope, lambda: assessor.program(program, scope))


def _assess(
    command: str, shell: ShellName, cwd: str, home: str | None, given: tuple[Given, ...] = ()
) -> RiskReport:
    assessor = Assessor(home or ANY_HOME, given)
    for hit in integrity.findings(command):
        assessor.found(hit, None)
    scope = ShellScope(
        {"HOME": assessor.home, "IFS": " \t\n", "SHELL": "/bin/bash"}, cwd, assessor.home
    )
    handed = {one.path: one.text for one in given if one.is_data}
    scope.files.update(handed)
    lines = command.replace("\r\n", "\n")
    return _read(assessor, command, scope, lambda: assessor.text(lines, scope, shell))


def _read(
    assessor: Assessor, text: str, scope: ShellScope, walk: Callable[[], object]
) -> RiskReport:
    """Return the report of a walk; texts that are too long or unparsable ask."""
    before = scope.files.copy()
    if len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        assessor.found(ask("too_long", f"longer than {MAX_BYTES} bytes"), None)
        return assessor.report()
    try:
        walk()
        assessor.finish(scope)
    except Unreadable as reason:
        assessor.found(ask("unreadable", str(reason)), None)
    except RecursionError:
        assessor.found(ask("unreadable", "nested too deeply"), None)
    report = assessor.report()
    written = [
        path
        for path, text in scope.files.items()
        if path.startswith("/") and UNKNOWN not in path and before.get(path, _NEW) != text
    ]
    if not (written or assessor.runs):
        return report
    runs, judged = tuple(assessor.runs), tuple(assessor.judged)
    return replace(report, written=tuple(written[:MAX_WRITTEN]), runs=runs, judged=judged)


@lru_cache(maxsize=512)
def _kept(command: str, shell: ShellName, cwd: str, home: str | None) -> RiskReport:
    """Return the cached report, which depends only on the arguments."""
    return _assess(command, shell, cwd, home)


@lru_cache(maxsize=64)
def _kept_given(
    command: str, shell: ShellName, cwd: str, home: str | None, given: tuple[Given, ...]
) -> RiskReport:
    """Return the cached report for given files, whose content is part of the key."""
    return _assess(command, shell, cwd, home, given)


@lru_cache(maxsize=4)
def _kept_long(command: str, shell: ShellName, cwd: str, home: str | None) -> RiskReport:
    """Return the cached report of a long command, kept only for repeated use in one call."""
    return _assess(command, shell, cwd, home)


def forget() -> None:
    """Empty the caches, for measurements only."""
    _kept.cache_clear()
    _kept_long.cache_clear()
    _kept_given.cache_clear()
    known.cache_clear()
    kept_code.cache_clear()
