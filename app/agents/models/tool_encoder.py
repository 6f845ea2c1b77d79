"""JSON of tool definitions, encoded once for as long as the same ones are sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from app.core.text import dump_json

MAX_SETS = 32
"""Number of tool sets that are kept: the agents in use, before and after a change."""

Definition = Mapping[str, Any]


class ToolEncoder:
    """Encoder of the definitions in requests; definitions never change once they are sent."""

    def __init__(self) -> None:
        # By identity; the definitions are kept, so that no other object gets their identity.
        self._sets: dict[tuple[int, ...], tuple[tuple[Definition, ...], orjson.Fragment]] = {}

    def encoded(self, tools: Sequence[Definition]) -> orjson.Fragment:
        """Return the definitions as one JSON array."""
        key = tuple(map(id, tools))
        known = self._sets.get(key)
        if known is None:
            if len(self._sets) >= MAX_SETS:
                del self._sets[next(iter(self._sets))]
            fragment = orjson.Fragment(dump_json([dict(tool) for tool in tools]))
            known = self._sets[key] = (tuple(tools), fragment)
        return known[1]
