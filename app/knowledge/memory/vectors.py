"""Vectors of memories: packed for the database, and the nearest of many found.

Of each vector its signs are kept too, one bit a number. Comparing bits tells apart what is near
from what is not, for a hundred thousand memories in some ten milliseconds and without a library;
only the best of them are compared as they are.
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
    """A vector of length 1: its signs, and its numbers as 32-bit floats, little end first."""

    bits: bytes
    numbers: bytes


def packed(vector: Vector) -> Packed:
    """Any vector but that of zeros."""
    length = math.hypot(*vector)
    signs = "".join("1" if number > 0 else "0" for number in vector)
    bits = int(signs, 2).to_bytes((len(vector) + 7) // 8, "big")
    return Packed(bits, struct.pack(f"<{len(vector)}f", *(number / length for number in vector)))


def nearest(rows: Iterable[tuple[int, bytes]], wanted: Packed, limit: int) -> list[int]:
    """Of numbers with their bits, those that differ least; of other lengths none."""
    size, bits = len(wanted.bits), int.from_bytes(wanted.bits, "big")
    differing = (
        ((int.from_bytes(other, "big") ^ bits).bit_count(), number)
        for number, other in rows
        if len(other) == size
    )
    return [number for _, number in heapq.nsmallest(limit, differing)]


def likeness(one: bytes, other: bytes) -> float:
    """The cosine of two vectors of length 1, from −1 to 1; −1 when they cannot be compared."""
    if len(one) != len(other):
        return -1.0
    cosine: float = sum(map(mul, _numbers(one), _numbers(other)))
    return cosine


def _numbers(numbers: bytes) -> Sequence[float]:
    return struct.unpack(f"<{len(numbers) // 4}f", numbers)
