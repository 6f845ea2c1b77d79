"""Parsers for git's machine-readable output."""

from __future__ import annotations

from typing import Any

_STATES = {
    "M": "modified",
    "T": "type_changed",
    "A": "added",
    "D": "deleted",
    "R": "renamed",
    "C": "copied",
    "U": "unmerged",
}
LOG_FORMAT = "%H%x1f%P%x1f%an%x1f%ae%x1f%aI%x1f%D%x1f%s%x1f%b%x1e"
_LOG_FIELDS = 8


def read_status(text: str) -> dict[str, Any]:
    """Parse `git status --porcelain=v2 --branch -z` to branch facts and a list of files."""
    status: dict[str, Any] = {
        "branch": None,
        "commit": None,
        "upstream": None,
        "ahead": 0,
        "behind": 0,
    }
    files: list[dict[str, Any]] = []
    records = iter(text.split("\0"))
    for record in records:
        kind, _, rest = record.partition(" ")
        if kind == "#":
            _read_header(rest, status)
        elif kind == "1":
            files.append(_changed(rest.split(" ", 7), None))
        elif kind == "2":
            # The previous name of a renamed file is a separate record.
            files.append(_changed(_without_score(rest), next(records, "")))
        elif kind == "u":
            files.append({"path": rest.split(" ", 9)[-1], "state": "unmerged"})
        elif kind == "?":
            files.append({"path": rest, "state": "untracked"})
    status["files"] = files
    status["clean"] = not files
    return status


def _read_header(rest: str, status: dict[str, Any]) -> None:
    name, _, value = rest.partition(" ")
    if name == "branch.head":
        status["branch"] = None if value == "(detached)" else value
    elif name == "branch.oid":
        status["commit"] = None if value == "(initial)" else value
    elif name == "branch.upstream":
        status["upstream"] = value
    elif name == "branch.ab":
        ahead, _, behind = value.partition(" ")
        status["ahead"], status["behind"] = abs(int(ahead)), abs(int(behind))


def _without_score(rest: str) -> list[str]:
    fields = rest.split(" ", 8)
    return [*fields[:7], fields[-1]]


def _changed(fields: list[str], old_path: str | None) -> dict[str, Any]:
    staged, unstaged = fields[0][:1], fields[0][1:2]
    changed: dict[str, Any] = {
        "path": fields[-1],
        "state": "changed",
        "staged": _STATES.get(staged),
        "unstaged": _STATES.get(unstaged),
    }
    if old_path is not None:
        changed["old_path"] = old_path
    return changed


def read_log(text: str) -> list[dict[str, Any]]:
    """Parse `git log` in `LOG_FORMAT`, newest first; a truncated record is omitted."""
    commits = []
    for record in text.split("\x1e")[:-1]:
        fields = record.lstrip("\n").split("\x1f", _LOG_FIELDS - 1)
        if len(fields) == _LOG_FIELDS:
            commits.append(_commit(fields))
    return commits


def _commit(fields: list[str]) -> dict[str, Any]:
    commit, parents, name, email, date, refs, subject, body = fields
    return {
        "commit": commit,
        "parents": parents.split(),
        "author": name,
        "email": email,
        "date": date,
        "refs": [ref for ref in refs.split(", ") if ref],
        "subject": subject,
        "body": body.strip(),
    }


def read_blame(text: str) -> list[dict[str, Any]]:
    """Parse `git blame --line-porcelain` to one entry per line."""
    lines: list[dict[str, Any]] = []
    entry: dict[str, Any] = {}
    for line in text.split("\n"):
        if line.startswith("\t"):
            lines.append({**entry, "text": line[1:]})
            entry = {}
        elif not entry and line:
            fields = line.split(" ")
            entry = {"commit": fields[0], "line": int(fields[2])}
        else:
            _read_blame_header(line, entry)
    return lines


def _read_blame_header(line: str, entry: dict[str, Any]) -> None:
    name, _, value = line.partition(" ")
    if name in ("author", "summary"):
        entry[name] = value
    elif name == "author-time":
        entry["time"] = int(value)
