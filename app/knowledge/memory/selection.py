"""Selection of memories by administrators, as SQL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from app.domain.memory import Memory, Scope
from app.knowledge.memory.reader import Query
from app.knowledge.memory.rows import MEMORIES, memory_of
from app.knowledge.memory.search_query import read_question
from app.knowledge.memory.storage import MemoryQuery, WordIndex

_FROM = "FROM memories m JOIN memory_places p ON p.id = m.place_id"
_NONE = "1 = 0"
_ALL = "1 = 1"


@dataclass(frozen=True, slots=True)
class MemoryCriteria:
    """Filter for memories; None matches all.

    Attributes:
        query: all of its words, parsed as in `memory_recall`; without words, no match.
        until: changed before this time, in the form of rows.
    """

    scope: Scope | None = None
    owner: str | None = None
    tag: str | None = None
    query: str | None = None
    until: str | None = None

    def facts(self) -> dict[str, Any]:
        """Return the filter for the audit."""
        given = {
            "scope": self.scope,
            "owner": self.owner,
            "tag": self.tag,
            "query": self.query,
            "until": self.until,
        }
        return {name: value for name, value in given.items() if value is not None}


def condition_of(filters: MemoryCriteria, index: WordIndex) -> tuple[str, list[Any]]:
    """Return the condition and its values."""
    found: list[tuple[str, list[Any]]] = []
    for column, value in (("p.scope = ?", filters.scope), ("p.owner = ?", filters.owner)):
        if value is not None:
            found.append((column, [value]))
    if filters.until is not None:
        found.append(("m.updated_at < ?", [filters.until]))
    if filters.tag is not None or filters.query is not None:
        words = None
        if filters.query is not None:
            words = read_question(filters.query, "and").expression
            if words is None:
                return _NONE, []
        tags = () if filters.tag is None else (filters.tag,)
        found.append(index.condition(MemoryQuery(None, tags, words)))
    if not found:
        return _ALL, []
    return " AND ".join(sql for sql, _ in found), [item for _, values in found for item in values]


def count(query: Query, filters: MemoryCriteria, index: WordIndex) -> int:
    """Return the number of matching memories."""
    condition, values = condition_of(filters, index)
    return int(query(f"SELECT COUNT(*) {_FROM} WHERE {condition}", values)[0][0])


def newest(
    query: Query, filters: MemoryCriteria, index: WordIndex, *, limit: int, before: int | None
) -> list[Memory]:
    """Return memories, newest first; `before` is the last number of the previous page."""
    condition, values = condition_of(filters, index)
    if before is not None:
        condition, values = f"{condition} AND m.number < ?", [*values, before]
    sql = f"{MEMORIES} WHERE {condition} ORDER BY m.number DESC LIMIT ?"
    return [memory_of(row) for row in query(sql, (*values, limit))]


def oldest(
    query: Query, filters: MemoryCriteria, index: WordIndex, *, limit: int, after: int, upto: int
) -> list[Memory]:
    """Return memories, oldest first, from `after` (exclusive) to `upto` (inclusive)."""
    condition, values = condition_of(filters, index)
    sql = (
        f"{MEMORIES} WHERE {condition} AND m.number > ? AND m.number <= ? ORDER BY m.number LIMIT ?"
    )
    return [memory_of(row) for row in query(sql, (*values, after, upto, limit))]


def last(query: Query) -> int:
    """Return the newest memory's number; 0 if there is none."""
    return int(query("SELECT COALESCE(MAX(number), 0) FROM memories")[0][0])
