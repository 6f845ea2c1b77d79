"""The three hot events, encoded without building a model.

A Pydantic event costs 3.1 µs to build and dump; splicing a prefix onto encoded fields
costs 0.5 µs, and a governed call writes two of them. The models stay the definition:
`tests/events/test_encode.py` proves that these bytes load as the model and that the
model, dumped, gives the same bytes.
"""

from __future__ import annotations

from typing import Any

from app.core.text import dump_json


def encode(fields: dict[str, Any]) -> bytes:
    """JSON bytes of `fields`, without the opening brace, None left out by the caller."""
    return dump_json(fields)[1:]


def durable_head(kind: str, ts: str, session: str, seq: int) -> bytes:
    """Everything before the event's own fields; `session` is `session_part(…)`."""
    return f'{{"v":1,"type":"{kind}","ts":"{ts}",{session}"seq":{seq},'.encode()


def ephemeral_head(kind: str, ts: str, session: str, after_seq: int) -> bytes:
    """As `durable_head`, for live output."""
    return f'{{"v":1,"type":"{kind}","ts":"{ts}",{session}"after_seq":{after_seq},'.encode()


def session_part(session_id: str, epoch: str) -> str:
    """The two fields that never change while a session is open; both are plain identifiers."""
    return f'"session_id":"{session_id}","epoch":"{epoch}",'
