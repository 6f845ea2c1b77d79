"""Vectors of memories: packed for the database, with nearest neighbor search.

The signs of each vector are stored too, one bit per number. Comparing bits selects near candidates
among a hundred thousand memories in some ten milliseconds without a library; only the best are
compared exactly.
"""

from __future__ import annotations

import heapq
import math
import struct
from collections.abc import Iterable, Sequence
from operator import mul
from typing import NamedTuple

from app.operations.embeddings.embedder import Vector

NOTHING = b""
"Placeholder for a text without a vector, so that it is not requested again."


class Packed(NamedTuple):
    """Vector of length 1: its signs, and its numbers as little-endian 32-bit floats."""

    bits: bytes
    numbers: bytes


def packed(vector: Vector) -> Packed:
    """Pack any vector except zero."""
    length = math.hypot(*vector)
    signs = "".join("1" if number > 0 else "0" for number in vector)
    bits = int(signs, 2).to_bytes((len(vector) + 7) // 8, "big")
    return Packed(bits, struct.pack(f"<{len(vector)}f", *(number / length for number in vector)))


def nearest(rows: Iterable[tuple[int, bytes]], wanted: Packed, limit: int) -> list[int]:
    """Return the numbers with the most similar bits; other lengths are skipped."""
    size, bits = len(wanted.bits), int.from_bytes(wanted.bits, "big")
    differing = (
        ((int.from_bytes(other, "big") ^ bits).bit_count(), number)
        for number, other in rows
        if len(other) == size
    )
    return [number for _, number in heapq.nsmallest(limit, differing)]


def likeness(one: bytes, other: bytes) -> float:
    """Return the cosine of two vectors of length 1, from −1 to 1; −1 if incomparable."""
    if len(one) != len(other):
        return -1.0
    cosine: float = sum(map(mul, _numbers(one), _numbers(other)))
    return cosine


def _numbers(numbers: bytes) -> Sequence[float]:
    return struct.unpack(f"<{len(numbers) // 4}f", numbers)
