"""Rows of memory ↔ values, and the statements that read them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from app.db.ledger import Transaction
from app.knowledge.memory.question import tag_word
from app.tools.memory.ports import Memory, Place, Writer

COLUMNS = (
    "m.number, m.id, p.scope, p.owner, m.key, m.version, m.content, m.tags, m.source, m.user_id,"
    " m.agent_id, m.session_id, m.created_at, m.updated_at"
)
MEMORIES = f"SELECT {COLUMNS} FROM memories m JOIN memory_places p ON p.id = m.place_id"  # noqa: S608 - constants of this file
BY_KEY = f"{MEMORIES} WHERE m.place_id = ? AND m.key = ?"
BY_ID = f"{MEMORIES} WHERE m.id = ?"
PLACE = "SELECT id, counter, total FROM memory_places WHERE scope = ? AND owner = ?"

_ADD_WORDS = "INSERT INTO memory_words (rowid, place, tags, words) VALUES (?, ?, ?, ?)"
_DROP_WORDS = "DELETE FROM memory_words WHERE rowid = ?"


def memory_of(row: Sequence[Any]) -> Memory:
    """A row of `MEMORIES` as a value."""
    number, id_, scope, owner, key, version, content, tags, source, *rest = row
    user_id, agent_id, session_id, created_at, updated_at = rest
    return Memory(
        number,
        id_,
        Place(scope, owner),
        key,
        version,
        content,
        tuple(orjson.loads(tags)),
        Writer(source, user_id, agent_id, session_id),
        created_at,
        updated_at,
    )


def tags_text(tags: Sequence[str]) -> str:
    """Tags as their column holds them."""
    return orjson.dumps(list(tags)).decode()


def index(
    transaction: Transaction, number: int, place_id: int, words: str, tags: Sequence[str]
) -> None:
    """Let a memory be found by its words; what it was found by before is forgotten."""
    transaction.execute(_DROP_WORDS, (number,))
    marks = " ".join(tag_word(tag) for tag in tags)
    transaction.execute(_ADD_WORDS, (number, str(place_id), marks, words))


def unindex(transaction: Transaction, number: int) -> None:
    """Take a memory's words out of the index."""
    transaction.execute(_DROP_WORDS, (number,))


def match_of(place_ids: Sequence[int] | None, tags: Sequence[str], words: str | None) -> str:
    """An expression of the index: in these places (None: in any), with all tags, with words.

    At least one of the three must be given.
    """
    parts = []
    if place_ids is not None:
        parts.append("place : (" + " OR ".join(f'"{id_}"' for id_ in place_ids) + ")")
    parts += [f'tags : "{tag_word(tag)}"' for tag in tags]
    if words is not None:
        parts.append(f"words : ({words})")
    return " AND ".join(parts)
