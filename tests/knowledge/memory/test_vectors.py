"""Packing vectors, and finding the nearest."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.knowledge.memory.vectors import NOTHING, Packed, likeness, nearest, packed

numbers = st.floats(-1e6, 1e6, allow_nan=False)
vectors = st.lists(numbers, min_size=1, max_size=40).filter(lambda v: any(abs(n) > 1e-3 for n in v))


@given(vectors, st.floats(0.01, 1000))
def test_only_the_direction_counts(vector: list[float], length: float):
    one, other = packed(vector), packed([number * length for number in vector])
    assert likeness(one.numbers, other.numbers) == pytest.approx(1, abs=1e-4)
    assert likeness(one.numbers, packed([-n for n in vector]).numbers) == pytest.approx(
        -1, abs=1e-4
    )


@given(vectors, vectors)
def test_it_is_the_cosine(one: list[float], other: list[float]):
    size = min(len(one), len(other))
    one, other = [*one[:size], 1.0], [*other[:size], -2.0]
    expected = sum(a * b for a, b in zip(one, other, strict=True)) / (
        math.hypot(*one) * math.hypot(*other)
    )
    assert likeness(packed(one).numbers, packed(other).numbers) == pytest.approx(expected, abs=1e-4)


def test_the_nearest_come_first_and_no_more_than_wanted():
    wanted = packed([1, 1, 1, -1])
    rows = [
        (1, packed([1, 1, -1, -1]).bits),
        (2, packed([1, 2, 3, -4]).bits),
        (3, packed([-1, -1, -1, 1]).bits),
    ]
    assert nearest(rows, wanted, 2) == [2, 1]


def test_vectors_of_other_lengths_and_none_at_all_are_never_near():
    wanted = packed([1.0] * 16)
    assert nearest([(1, packed([1.0] * 32).bits), (2, NOTHING)], wanted, 9) == []
    assert likeness(packed([1.0] * 2).numbers, packed([1.0] * 3).numbers) == -1
    assert likeness(NOTHING, packed([1.0]).numbers) == -1


def test_the_smallest_and_the_largest_numbers_are_taken():
    assert likeness(packed([5e-324]).numbers, packed([1e300]).numbers) == pytest.approx(1)


def test_bits_are_signs():
    assert packed([1, -1, 0, 5]) == Packed(b"\x09", packed([1, -1, 0, 5]).numbers)
