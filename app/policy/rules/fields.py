"""Matchers on the JSON fields of a call's arguments."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import re2

from app.policy.rules.words import glob

MISSING = object()
_STEP = re.compile(r"([^.\[\]]+)|\[(\d+|\*)\]")


def steps(path: str) -> tuple[str | int, ...]:
    """Parse `a.b[0].c[*]` to keys, indexes and `*` (any).

    Raises:
        ValueError: it is not a valid path.
    """
    found: list[str | int] = []
    at = 0
    while at < len(path):
        step = _STEP.match(path, at)
        if step is None:
            raise ValueError("must be a path such as a.b[0].c or items[*].name")
        found.append(step[1] or ("*" if step[2] == "*" else int(step[2])))
        at = step.end()
        if path.startswith(".", at):
            at += 1
            if at == len(path):
                raise ValueError("must not end with a dot")
    if not found:
        raise ValueError("must not be empty")
    return tuple(found)


def values_at(document: Any, path: tuple[str | int, ...]) -> Iterator[Any]:
    """Yield every value at the path; `MISSING` for each branch that ends early."""
    if not path:
        yield document
        return
    step, rest = path[0], path[1:]
    if step == "*":
        items = (
            list(document.values())
            if isinstance(document, Mapping)
            else list(document)
            if isinstance(document, list | tuple)
            else []
        )
        if not items:
            yield MISSING
        for item in items:
            yield from values_at(item, rest)
    elif isinstance(step, int):
        inside = isinstance(document, list | tuple) and step < len(document)
        yield from values_at(document[step], rest) if inside else iter([MISSING])
    elif isinstance(document, Mapping) and step in document:
        yield from values_at(document[step], rest)
    else:
        yield MISSING


@lru_cache(maxsize=1024)
def regex(pattern: str) -> re2._Regexp:
    """Compile an RE2 pattern, which runs in linear time for any pattern.

    Raises:
        re2.error: it is invalid.
    """
    options = re2.Options()
    options.log_errors = False
    options.max_mem = 4 << 20
    return re2.compile(pattern, options)


@dataclass(frozen=True, slots=True)
class FieldMatcher:
    """One condition on one value. Types are strict: true is not 1, "1" is not 1."""

    path: tuple[str | int, ...]
    kind: str
    operand: Any

    def match(self, document: Any, *, every: bool) -> bool:
        """Return whether any value matches; with `every`, whether there are values and all
        match.
        """
        found = [self._fits(value) for value in values_at(document, self.path)]
        return all(found) if every else any(found)

    def _fits(self, value: Any) -> bool:
        if self.kind == "exists":
            return (value is not MISSING and value is not None) is self.operand
        if value is MISSING:
            return False
        if self.kind == "equals":
            return same(value, self.operand)
        if self.kind == "in":
            return any(same(value, item) for item in self.operand)
        if self.kind == "range":
            low, high = self.operand
            number = isinstance(value, int | float) and not isinstance(value, bool)
            return number and (low is None or value >= low) and (high is None or value <= high)
        if not isinstance(value, str):
            return False
        if self.kind == "glob":
            return glob(self.operand).match(value) is not None
        return regex(self.operand).search(as_text(value)) is not None


def as_text(value: str) -> str:
    """Return valid text for the engine: lone surrogates are replaced."""
    return value.encode("utf-8", "replace").decode()


def same(left: Any, right: Any) -> bool:
    """Return whether JSON values are equal; 1 equals 1.0, but not true."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(map(same, left, right))
    return bool(left == right)
