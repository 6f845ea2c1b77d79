"""The end of a text that may be the beginning of a value."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.prefix_index import PrefixIndex


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("", 0),
        ("nothing", 0),
        ("key s", 1),
        ("key se", 2),
        ("key secr", 4),
        ("key secret-1", 0),  # whole: nothing more can come of it
        ("key secret-", 7),
        ("sesecret", 6),
        ("a secret in the middle", 0),
    ],
)
def test_the_longest_beginning_at_the_end_is_reported(text, held):
    assert PrefixIndex(["secret-1", "serious"]).at_end(text) == held


def test_without_values_nothing_is_held():
    assert PrefixIndex([]).at_end("text") == 0


@given(
    st.lists(st.text("ab", min_size=1, max_size=8), max_size=5),
    st.text("ab", max_size=12),
)
def test_it_is_what_a_trial_of_every_length_finds(values, text):
    lengths = [
        length
        for value in values
        for length in range(1, len(value))
        if text.endswith(value[:length])
    ]
    assert PrefixIndex(values).at_end(text) == max(lengths, default=0)
