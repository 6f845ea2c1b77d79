"""Statements for requests with an idempotency key."""

from __future__ import annotations

from app.db.statements import Statement

# Before all writes of the request, and never in a later commit.
KEEP_KEY = Statement(
    5,
    "INSERT INTO idempotency_keys (door, owner, key, content, status, answer, kept_until)"
    " VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (door, owner, key) DO UPDATE SET"
    " content = excluded.content, status = excluded.status, answer = excluded.answer,"
    " kept_until = excluded.kept_until",
)
FORGET_KEYS = Statement(6, "DELETE FROM idempotency_keys WHERE kept_until < ?")

ALL = (KEEP_KEY, FORGET_KEYS)
