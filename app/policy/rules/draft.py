"""Draft of a rule for one call, as narrow as the call."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from app.core.redaction import MASK
from app.policy.risk.model import Segment
from app.policy.rules.arguments import texts_of
from app.policy.rules.call_view import CallView
from app.policy.rules.definition import Verb
from app.policy.rules.places import resolve

MAX_FIELDS = 20
_PATH_NAME = re.compile(
    r"(?:^|_)(?:path|paths|file|files|filename|folder|directory|dir)$", re.IGNORECASE
)
_ANY_WORD = "*"


def draft_of(view: CallView, decision: Verb, *, note: str = "") -> dict[str, Any]:
    """Return a definition that matches the call and little else.

    A command is drafted from the segment that has findings, or else from the first that is not only
    a wrapper. Words that are masked, or known only when the command runs, become `*`.
    """
    facts = view.facts
    drafted: dict[str, Any] = {"tool": facts.tool.name, "decision": decision}
    match = _arguments(view) if view.report is None else _command(view)
    if match:
        drafted["match"] = match
    if note:
        drafted["justification"] = note
    return drafted


def _command(view: CallView) -> dict[str, Any]:
    segment = _chosen(view)
    if segment is None:
        return {}
    return {"argv": [_pattern(word) for word in segment.argv]}


def _chosen(view: CallView) -> Segment | None:
    report = view.report
    assert report is not None
    found = [item.segment for item in report.findings if item.segment is not None]
    for at in found:
        if at < len(report.segments) and report.segments[at].argv:
            return report.segments[at]
    return next((one for one in report.segments if one.argv and not one.wraps), None)


def _pattern(word: str | None) -> str:
    """Return a word as a pattern that matches it, and nothing else where it is known."""
    if word is None or MASK in word:
        return _ANY_WORD
    if word == "...":
        return "[.].."
    return "".join(f"[{char}]" if char in "*?[" else char for char in word) or _ANY_WORD


def _arguments(view: CallView) -> dict[str, Any]:
    paths = _paths(view)
    hosts = list(
        dict.fromkeys(
            address.host for address in view.addresses if address.host and MASK not in address.host
        )
    )
    if paths or hosts:
        places = {"paths": paths} if paths else {}
        return {**places, "urls": [{"host": host} for host in hosts]} if hosts else places
    fields = {
        name: {"equals": value}
        for name, value in view.facts.raw.items()
        if isinstance(value, str | int | float | bool) and not _is_masked(value) and _plain(name)
    }
    return {"fields": dict(list(fields.items())[:MAX_FIELDS])} if fields else {}


def _paths(view: CallView) -> list[str]:
    """Return the paths of a call, relative to its workspace where they are below it."""
    facts = view.facts
    if facts.tool.edits_files or facts.tool.paths_in is not None:
        found = [place.path for place in view.argument_places]
    else:
        named = texts_of(facts.raw, _PATH_NAME)
        found = [resolve(text, facts.cwd) for text, telling in named if telling and text]
    below = f"{facts.cwd.rstrip('/')}/"
    known = [path for path in found if path and MASK not in path]
    return list(dict.fromkeys(_glob_of(path.removeprefix(below)) for path in known))


def _glob_of(path: str) -> str:
    return "".join(f"[{char}]" if char in "*?[" else char for char in path)


def _is_masked(value: Any) -> bool:
    return isinstance(value, str) and MASK in value


def _plain(name: str) -> bool:
    """Return whether a name is a path into the arguments by itself."""
    return re.fullmatch(r"[A-Za-z_][A-Za-z0-9_\-]*", name) is not None


def example_of(raw: Mapping[str, Any], command: str | None) -> str | dict[str, Any] | None:
    """Return the call as an example of a rule; None if it is masked and so cannot be one."""
    example: str | dict[str, Any] = dict(raw) if command is None else command
    return None if MASK in str(example) else example
