"""Last states of a session's latest running tools, in the session's metadata."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from app.db.event_blocks import Fetch

PROCESSES = "processes"
MAX_KEPT = 20
"""Calls per session whose last state is stored; the oldest are dropped first."""

_META = "SELECT meta FROM sessions WHERE id = ?"


def merge_samples(fetch: Fetch, rows: list[Sequence[Any]]) -> list[Sequence[Any]]:
    """Convert rows of `(sample, session_id)` to rows of `(meta, session_id)`; a
    `Statement.prepare`.

    A sample is the JSON of one call's state and replaces an older one with its `operation_id`.
    """
    metas: dict[str, dict[str, Any]] = {}
    for sample, session_id in rows:
        meta = metas.get(session_id)
        if meta is None:
            found = fetch(_META, (session_id,))
            if not found:
                continue
            meta = metas[session_id] = json.loads(found[0][0])
        state = json.loads(sample)
        kept = meta.get(PROCESSES, ())
        others = [one for one in kept if one["operation_id"] != state["operation_id"]]
        meta[PROCESSES] = [*others, state][-MAX_KEPT:]
    return [
        (json.dumps(meta, ensure_ascii=False, separators=(",", ":")), session_id)
        for session_id, meta in metas.items()
    ]
