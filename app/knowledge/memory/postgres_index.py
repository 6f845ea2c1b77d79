"""Word index in PostgreSQL, as a `tsvector` without PostgreSQL's parser.

The service splits the words, so queries find the same texts as in FTS5. PostgreSQL's own ranks
ignore word frequency, so BM25 is computed here, with each query word counted once.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from app.db.writer import Transaction
from app.knowledge.memory.reader import Query
from app.knowledge.memory.search_query import tag_word
from app.knowledge.memory.storage import MemoryQuery

SCHEMA: Final = (
    "CREATE TABLE IF NOT EXISTS memory_places (id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,"
    " scope TEXT NOT NULL, owner TEXT NOT NULL, counter BIGINT NOT NULL, total BIGINT NOT NULL,"
    " UNIQUE (scope, owner))",
    "CREATE TABLE IF NOT EXISTS memories (number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,"
    " id TEXT NOT NULL UNIQUE, place_id BIGINT NOT NULL REFERENCES memory_places (id),"
    " key TEXT NOT NULL, version BIGINT NOT NULL, content TEXT NOT NULL, tags TEXT NOT NULL,"
    " source TEXT NOT NULL, user_id TEXT, agent_id TEXT, session_id TEXT,"
    " created_at TEXT NOT NULL, updated_at TEXT NOT NULL, UNIQUE (place_id, key))",
    "CREATE INDEX IF NOT EXISTS ix_memories_place ON memories (place_id, number)",
    "CREATE TABLE IF NOT EXISTS memory_words (number BIGINT PRIMARY KEY, place_id BIGINT NOT NULL,"
    " tags TEXT[] NOT NULL, words TSVECTOR NOT NULL, size INTEGER NOT NULL)",
    "CREATE INDEX IF NOT EXISTS ix_memory_words ON memory_words USING gin (words)",
    "CREATE INDEX IF NOT EXISTS ix_memory_tags ON memory_words USING gin (tags)",
    "CREATE TABLE IF NOT EXISTS memory_vectors (number BIGINT PRIMARY KEY, model TEXT NOT NULL,"
    " bits BYTEA NOT NULL, vector BYTEA NOT NULL)",
)

_ADD = (
    "INSERT INTO memory_words (number, place_id, tags, words, size)"
    " VALUES (?, ?, ?, CAST(? AS tsvector), ?)"
)
_DROP = "DELETE FROM memory_words WHERE number = ?"
_HAS = "words @@ CAST(? AS tsquery)"
_MOST_POSITIONS, _LAST_POSITION = 255, 16_383
# A tsvector is limited to a megabyte; the end of a longer text is not found.
_MOST_BYTES = 900_000
_K1, _B = 1.2, 0.75
_TERM = re.compile(r'"([^"]*)"(\*?)')
_WORD = re.compile(r"[A-Za-z0-9_]+")


class PostgresIndex:
    """`WordIndex` in the table created by `SCHEMA`."""

    def keep(
        self,
        transaction: Transaction,
        number: int,
        place_id: int,
        words: str,
        tags: Sequence[str],
    ) -> None:
        transaction.execute(_DROP, (number,))
        cut = words.split()
        marks = [tag_word(tag) for tag in tags]
        transaction.execute(_ADD, (number, place_id, marks, vector_of(cut), len(cut)))

    def drop(self, transaction: Transaction, number: int) -> None:
        transaction.execute(_DROP, (number,))

    def best(self, query: Query, wanted: MemoryQuery, limit: int) -> list[tuple[int, float]]:
        assert wanted.words is not None
        terms = list(terms_of(wanted.words))
        counted = ", ".join(f"COUNT(*) FILTER (WHERE {_HAS})" for _ in terms)
        total, mean, *found = query(
            f"SELECT COUNT(*), AVG(size), {counted} FROM memory_words",  # noqa: S608 - constants
            terms,
        )[0]
        if not total:
            return []
        weights = [math.log(1 + (total - n + 0.5) / (n + 0.5)) for n in found]
        summed = " + ".join(f"CAST(? AS float8) * CAST({_HAS} AS int)" for _ in terms)
        weighed: list[Any] = [part for pair in zip(weights, terms, strict=True) for part in pair]
        condition, values = _condition(wanted)
        rows = query(
            f"SELECT number, ({summed}) * {_K1 + 1} / (1 + {_K1} * ({1 - _B} + {_B} * size"  # noqa: S608 - constants
            f" / CAST(? AS float8))) AS rank FROM memory_words WHERE {condition}"
            " ORDER BY rank DESC, number DESC LIMIT ?",
            (*weighed, float(mean) or 1.0, *values, limit),
        )
        return [(number, float(rank)) for number, rank in rows]

    def newest(self, query: Query, wanted: MemoryQuery, limit: int) -> list[tuple[int, float]]:
        condition, values = _condition(wanted)
        sql = f"SELECT number FROM memory_words WHERE {condition} ORDER BY number DESC LIMIT ?"  # noqa: S608 - constants
        return [(number, 0.0) for (number,) in query(sql, (*values, limit))]

    def count(self, query: Query, wanted: MemoryQuery) -> int:
        condition, values = _condition(wanted)
        sql = f"SELECT COUNT(*) FROM memory_words WHERE {condition}"  # noqa: S608 - constants
        return int(query(sql, values)[0][0])

    def condition(self, wanted: MemoryQuery) -> tuple[str, list[Any]]:
        condition, values = _condition(wanted)
        return f"m.number IN (SELECT number FROM memory_words WHERE {condition})", values  # noqa: S608 - constants


def vector_of(words: Sequence[str]) -> str:
    """Return words as the text of a `tsvector`, each with its positions."""
    places: dict[str, list[int]] = {}
    size = 0
    for place, word in enumerate(words, 1):
        if word not in places:
            size += len(word) + 8
        size += 2
        if size > _MOST_BYTES:
            break
        listed = places.setdefault(word, [])
        if len(listed) < _MOST_POSITIONS and place <= _LAST_POSITION:
            listed.append(place)
    return " ".join(
        f"{_lexeme(word)}:{','.join(map(str, listed))}" if listed else _lexeme(word)
        for word, listed in places.items()
    )


def terms_of(expression: str) -> Iterator[str]:
    """Yield the terms of a `SearchQuery` expression, each as the text of a `tsquery`."""
    for phrase, star in _TERM.findall(expression):
        lexemes = " <-> ".join(_lexeme(word) for word in phrase.split())
        yield f"{lexemes}:*" if star else f"({lexemes})"


def _tsquery(expression: str) -> str:
    joint = " & " if '" AND "' in expression or '"* AND "' in expression else " | "
    return joint.join(terms_of(expression))


def _condition(wanted: MemoryQuery) -> tuple[str, list[Any]]:
    parts: list[str] = []
    values: list[Any] = []
    if wanted.place_ids is not None:
        parts.append("place_id = ANY(?)")
        values.append(list(wanted.place_ids))
    if wanted.tags:
        parts.append("tags @> ?")
        values.append([tag_word(tag) for tag in wanted.tags])
    if wanted.words is not None:
        parts.append(_HAS)
        values.append(_tsquery(wanted.words))
    return " AND ".join(parts), values


def _lexeme(word: str) -> str:
    """Quote a word; only characters of `words_of` get into a statement."""
    if _WORD.fullmatch(word) is None:
        raise ValueError(f"no word of the index: {word[:40]!r}")
    return f"'{word}'"
