"""Exclusions of a search: ignore rules, hidden names, version control and caches.

Rules come from `.gitignore` and from `.ignore`, which ripgrep and fd also read: a tree uses it to
exclude large files in git from searches. Within a folder `.ignore` takes precedence, otherwise the
deeper folder. Files for a single program, such as `.rgignore`, are not used.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import re2

from app.core.text import clean

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

IGNORE_FILES = (".gitignore", ".ignore")
HEAVY_FOLDERS = frozenset({".git", ".hg", ".svn", "node_modules", "__pycache__"})
MAX_RULES = 2000
_MAX_RULE = 500
_NESTED_SET = re.compile(r"\[[^\]]*(?:\[|--|&&|\|\||~~)")
_NAMED_GROUP = re.compile(r"\(\?P<\w+>")
_NOTHING = re2.compile(rb"[^\x00-\x{10FFFF}]")


class IgnoreSpec:
    """Rules of one `.gitignore`.

    Besides the exact check of one path there is a quick one for a whole folder: one search for all
    rules in all its names, which saves checking each entry (1.2 µs) in most folders.
    """

    def __init__(self, spec: GitIgnoreSpec) -> None:
        self._spec = spec
        self._any = _union(spec)

    def verdict(self, path: str) -> bool | None:
        """Return True to exclude, False to include, None if no rule applies to `path`."""
        return self._spec.check_file(path).include

    def may_name(self, paths: bytes) -> bool:
        """Return whether a rule may exclude one of `paths`, one per line; False is certain."""
        return self._any is None or self._any.search(paths) is not None


def parse_ignore(data: bytes) -> IgnoreSpec | None:
    """Parse the rules of one `.gitignore`; None if there are none.

    The file is untrusted: invalid rules are skipped, as are those beyond `MAX_RULES` or the limits
    of RE2, and it is never matched by a backtracking engine.
    """
    lines = data.decode("utf-8", "replace").splitlines()
    rules = [line for line in lines if _is_plausible(line)][:MAX_RULES]
    spec = _compile(rules)
    if spec is None and rules:
        spec = _compile([rule for rule in rules if _compile([rule])])
    return IgnoreSpec(spec) if spec else None


def _is_plausible(line: str) -> bool:
    if not line.strip() or line.startswith("#") or len(line) > _MAX_RULE:
        return False
    return _NESTED_SET.search(line) is None


def _compile(rules: Sequence[str]) -> GitIgnoreSpec | None:
    if not rules:
        return None
    from pathspec import GitIgnoreSpec

    try:
        return GitIgnoreSpec.from_lines(rules, backend="re2")
    except (ValueError, re.error, re2.error):
        return None


def _union(spec: GitIgnoreSpec) -> re2._Regexp | None:
    """Return all excluding rules as one pattern; None if they cannot be combined."""
    options = re2.Options()
    options.log_errors = False
    options.never_nl = True
    options.never_capture = True
    rules = [
        _NAMED_GROUP.sub("(?:", rule.regex.pattern)
        for rule in spec.patterns
        if rule.include and rule.regex is not None
    ]
    try:
        return re2.compile(f"(?m)(?:{'|'.join(rules)})".encode(), options) if rules else _NOTHING
    except re2.error:
        return None


@dataclass(frozen=True, slots=True)
class IgnoreRules:
    """Rules of one folder, then those of its parents; the deepest takes precedence.

    Attributes:
        spec: patterns relative to the folder.
        base: length of the folder's path with its slash, to remove it.
    """

    spec: IgnoreSpec
    base: int
    parent: IgnoreRules | None = None

    def ignores(self, path: str, *, is_dir: bool) -> bool:
        """Return whether `path`, relative to the workspace, is excluded."""
        rules: IgnoreRules | None = self
        path = clean(path)
        if is_dir:
            path += "/"
        while rules is not None:
            verdict = rules.spec.verdict(path[rules.base :])
            if verdict is not None:
                return verdict
            rules = rules.parent
        return False

    def may_ignore(self, prefix: str, names: Sequence[str]) -> bool:
        """Return whether anything in the folder `prefix` may be excluded; False is certain.

        Names of folders end with a slash.
        """
        rules: IgnoreRules | None = self
        while rules is not None:
            start = prefix[rules.base :]
            lines = "\n".join([start + name for name in names])
            if lines.count("\n") >= len(names):  # a name contains a line break
                return True
            if rules.spec.may_name(lines.encode("utf-8", "replace")):
                return True
            rules = rules.parent
        return False


def left_out(name: str, *, respect_ignore: bool, include_hidden: bool) -> bool:
    """Return whether the bare name is sufficient to exclude an entry."""
    if respect_ignore and name in HEAVY_FOLDERS:
        return True
    return not include_hidden and name.startswith(".")
