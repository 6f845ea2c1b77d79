"""Conversion of memory rows, and the statements that read them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from app.domain.memory import Memory, MemoryAuthor, MemoryScope

COLUMNS = (
    "m.number, m.id, p.scope, p.owner, m.key, m.version, m.content, m.tags, m.source, m.user_id,"
    " m.agent_id, m.session_id, m.created_at, m.updated_at"
)
MEMORIES = f"SELECT {COLUMNS} FROM memories m JOIN memory_places p ON p.id = m.place_id"  # noqa: S608 - constants of this file
BY_KEY = f"{MEMORIES} WHERE m.place_id = ? AND m.key = ?"
BY_ID = f"{MEMORIES} WHERE m.id = ?"
PLACE = "SELECT id, counter, total FROM memory_places WHERE scope = ? AND owner = ?"


def memory_of(row: Sequence[Any]) -> Memory:
    """Convert a row of `MEMORIES`."""
    number, id_, scope, owner, key, version, content, tags, source, *rest = row
    user_id, agent_id, session_id, created_at, updated_at = rest
    return Memory(
        number,
        id_,
        MemoryScope(scope, owner),
        key,
        version,
        content,
        tuple(orjson.loads(tags)),
        MemoryAuthor(source, user_id, agent_id, session_id),
        created_at,
        updated_at,
    )


def tags_text(tags: Sequence[str]) -> str:
    """Return tags in the form of their column."""
    return orjson.dumps(list(tags)).decode()
