"""Images refused by a model's provider, in the session's metadata."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from app.db.event_blocks import Fetch

REFUSED_IMAGES = "refused_images"
MAX_MODELS = 8
MAX_IMAGES = 200
"""Images per model; the oldest are dropped first."""

_META = "SELECT meta FROM sessions WHERE id = ?"


def with_refused(
    kept: dict[str, list[str]], model: str, images: Sequence[str]
) -> dict[str, list[str]]:
    """Return `kept` with the `images` that the provider of `model` refused."""
    known = kept.get(model, [])
    new = [image for image in dict.fromkeys(images) if image not in known]
    others = {name: keys for name, keys in kept.items() if name != model}
    found = {**others, model: [*known, *new][-MAX_IMAGES:]}
    return dict(list(found.items())[-MAX_MODELS:])


def merge_refused(fetch: Fetch, rows: list[Sequence[Any]]) -> list[Sequence[Any]]:
    """Convert rows of `(refused, session_id)` to rows of `(meta, session_id)`; a
    `Statement.prepare`.

    `refused` is JSON of a model and its images.
    """
    metas: dict[str, dict[str, Any]] = {}
    for refused, session_id in rows:
        meta = metas.get(session_id)
        if meta is None:
            found = fetch(_META, (session_id,))
            if not found:
                continue
            meta = metas[session_id] = json.loads(found[0][0])
        model, images = json.loads(refused)
        meta[REFUSED_IMAGES] = with_refused(meta.get(REFUSED_IMAGES, {}), model, images)
    return [
        (json.dumps(meta, ensure_ascii=False, separators=(",", ":")), session_id)
        for session_id, meta in metas.items()
    ]
