"""Comparison of two JSON values, and merge patches (RFC 7386)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any, Final

from app.tools.data.json_pointer import pointer
from app.tools.data.json_text import dump, equal

Path = tuple[str | int, ...]
_MISSING: Final = object()
_MAX_CHANGES = 1000
# Each change contains its whole path, and a key in it may be as long as the value.
_MAX_PATHS = 500_000


@dataclass(slots=True)
class Differences:
    """Differences by JSON Pointer: at most the first thousand, fewer with long pointers.

    Array items are compared by index.

    Attributes:
        total: number of all differences.
    """

    added: list[dict[str, Any]] = field(default_factory=list)
    removed: list[dict[str, Any]] = field(default_factory=list)
    changed: list[dict[str, Any]] = field(default_factory=list)
    total: int = 0

    def to_data(self) -> dict[str, Any]:
        return {
            "equal": self.total == 0,
            "added": self.added,
            "removed": self.removed,
            "changed": self.changed,
            "total": self.total,
            "truncated": self.total > self._shown(),
        }

    def to_text(self) -> str:
        rows = [
            *(f"+ {row['path'] or '(all)'}: {dump(row['value'])}" for row in self.added),
            *(f"- {row['path'] or '(all)'}: {dump(row['value'])}" for row in self.removed),
            *(
                f"~ {row['path'] or '(all)'}: {dump(row['old'])} -> {dump(row['new'])}"
                for row in self.changed
            ),
        ]
        if self.total > len(rows):
            rows.append(f"({self.total - len(rows)} more)")
        return "\n".join(rows) or "The values are equal."

    def _shown(self) -> int:
        return len(self.added) + len(self.removed) + len(self.changed)


def compare(old: Any, new: Any) -> Differences:
    """Compute what to add, remove and change to turn `old` into `new`."""
    found = Differences()
    room = _MAX_PATHS
    for path, before, after in _walk((), old, new):
        found.total += 1
        room -= sum(len(part) for part in path if isinstance(part, str))
        if found.total > _MAX_CHANGES or room < 0:
            continue
        at = pointer(path)
        if before is _MISSING:
            found.added.append({"path": at, "value": after})
        elif after is _MISSING:
            found.removed.append({"path": at, "value": before})
        else:
            found.changed.append({"path": at, "old": before, "new": after})
    return found


def _walk(path: Path, old: Any, new: Any) -> Iterator[tuple[Path, Any, Any]]:
    if isinstance(old, dict) and isinstance(new, dict):
        for key in (*old, *(key for key in new if key not in old)):
            yield from _walk((*path, key), old.get(key, _MISSING), new.get(key, _MISSING))
    elif isinstance(old, list) and isinstance(new, list):
        for index, (left, right) in enumerate(zip_longest(old, new, fillvalue=_MISSING)):
            yield from _walk((*path, index), left, right)
    elif old is _MISSING or new is _MISSING or not equal(old, new):
        yield path, old, new


def merge(target: Any, patch: Any) -> Any:
    """Return `target` changed by `patch`: null removes a key, objects merge, all else replaces."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for key, item in patch.items():
        if item is None:
            merged.pop(key, None)
        else:
            merged[key] = merge(merged.get(key), item)
    return merged
