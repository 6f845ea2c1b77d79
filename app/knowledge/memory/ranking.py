"""Ranking of memories by relevance, then recency."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime

CANDIDATES = 200
"""Number of best word matches considered; recency cannot raise matches further down."""

_DAY_S = 86_400


def score(relevance: float, updated_at: str, now: float, half_life_days: float) -> float:
    """Return the score relevance × (½ + ½ · 2^(−age / half-life)); higher is better.

    Age costs at most half of the relevance, so a memory twice as relevant ranks first at any age.

    Args:
        relevance: BM25, at least 0.
        updated_at: time of the last change in RFC 3339.
        now: Unix time.
    """
    age_days = max(0.0, now - datetime.fromisoformat(updated_at).timestamp()) / _DAY_S
    newness = math.pow(2.0, -age_days / half_life_days)
    return relevance * (0.5 + 0.5 * newness)


def blended(
    words: Sequence[tuple[int, float]], meanings: Sequence[tuple[int, float]]
) -> dict[int, float]:
    """Return the combined relevance of matches by words and by meaning.

    Each is relative to its best match, so that both have equal weight and matches of both count
    double. Without meanings the word scores are unchanged: only their order matters.
    """
    if not meanings:
        return dict(words)
    relevance: dict[int, float] = {}
    for found in (words, meanings):
        best = max((rank for _, rank in found), default=0.0) or 1.0
        for number, rank in found:
            relevance[number] = relevance.get(number, 0.0) + rank / best
    return relevance
