"""Word index in SQLite's FTS5."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from app.db.writer import Transaction
from app.knowledge.memory.reader import Query
from app.knowledge.memory.search_query import tag_word
from app.knowledge.memory.storage import MemoryQuery

_ADD = "INSERT INTO memory_words (rowid, place, tags, words) VALUES (?, ?, ?, ?)"
_DROP = "DELETE FROM memory_words WHERE rowid = ?"
_BEST = (
    "SELECT rowid, -rank FROM memory_words WHERE memory_words MATCH ?"
    " AND rank MATCH 'bm25(0.0, 0.0, 1.0)' ORDER BY rank LIMIT ?"
)
_NEWEST = (
    "SELECT rowid, 0.0 FROM memory_words WHERE memory_words MATCH ? ORDER BY rowid DESC LIMIT ?"
)
_COUNT = "SELECT COUNT(*) FROM memory_words WHERE memory_words MATCH ?"
_AMONG = "m.number IN (SELECT rowid FROM memory_words WHERE memory_words MATCH ?)"


class Fts5Index:
    """`WordIndex` in the table created by the migration."""

    def keep(
        self,
        transaction: Transaction,
        number: int,
        place_id: int,
        words: str,
        tags: Sequence[str],
    ) -> None:
        transaction.execute(_DROP, (number,))
        marks = " ".join(tag_word(tag) for tag in tags)
        transaction.execute(_ADD, (number, str(place_id), marks, words))

    def drop(self, transaction: Transaction, number: int) -> None:
        transaction.execute(_DROP, (number,))

    def best(self, query: Query, wanted: MemoryQuery, limit: int) -> list[tuple[int, float]]:
        return [(number, rank) for number, rank in query(_BEST, (_expression(wanted), limit))]

    def newest(self, query: Query, wanted: MemoryQuery, limit: int) -> list[tuple[int, float]]:
        return [(number, rank) for number, rank in query(_NEWEST, (_expression(wanted), limit))]

    def count(self, query: Query, wanted: MemoryQuery) -> int:
        return int(query(_COUNT, (_expression(wanted),))[0][0])

    def condition(self, wanted: MemoryQuery) -> tuple[str, list[Any]]:
        return _AMONG, [_expression(wanted)]


def _expression(wanted: MemoryQuery) -> str:
    parts = []
    if wanted.place_ids is not None:
        parts.append("place : (" + " OR ".join(f'"{id_}"' for id_ in wanted.place_ids) + ")")
    parts += [f'tags : "{tag_word(tag)}"' for tag in wanted.tags]
    if wanted.words is not None:
        parts.append(f"words : ({wanted.words})")
    return " AND ".join(parts)
