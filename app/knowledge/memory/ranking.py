"""Which of the memories that fit stands first: what fits better, and of equals the newer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime

CANDIDATES = 200
"Number of best word matches considered; recency cannot raise matches further down."

_DAY_S = 86_400


def score(relevance: float, updated_at: str, now: float, half_life_days: float) -> float:
    """Higher is better: relevance × (½ + ½ · 2^(−age / half-life)).

    Being old costs half of the relevance at most, so that a memory that fits twice as well
    stands first whatever its age.

    Args:
        relevance: BM25, at least 0.
        updated_at: RFC 3339, of the last change.
        now: Unix time.
    """
    age_days = max(0.0, now - datetime.fromisoformat(updated_at).timestamp()) / _DAY_S
    newness = math.pow(2.0, -age_days / half_life_days)
    return relevance * (0.5 + 0.5 * newness)


def blended(
    words: Sequence[tuple[int, float]], meanings: Sequence[tuple[int, float]]
) -> dict[int, float]:
    """Relevance by number of what was found by words and of what was found by meaning.

    Either is taken in shares of its best, so that both count alike and what both find counts
    double. Without meanings words stay as they are: only their order matters.
    """
    if not meanings:
        return dict(words)
    relevance: dict[int, float] = {}
    for found in (words, meanings):
        best = max((rank for _, rank in found), default=0.0) or 1.0
        for number, rank in found:
            relevance[number] = relevance.get(number, 0.0) + rank / best
    return relevance
