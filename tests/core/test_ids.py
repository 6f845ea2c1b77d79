"""Identifiers: unique, of one form, and in the order of their creation."""

from __future__ import annotations

import re

import pytest

from app.core import ids
from app.core.ids import new_id


def test_an_id_is_its_prefix_and_24_digits():
    assert re.fullmatch(r"ses_[0-9a-f]{24}", new_id("ses"))


def test_ids_differ():
    made = {new_id("run") for _ in range(1000)}
    assert len(made) == 1000


def test_a_later_id_sorts_after_an_earlier_one(monkeypatch: pytest.MonkeyPatch):
    moments = [0.0, 1.9, 9.0, 1_800_000_000.0, float(2**32 - 1)]
    made = []
    for moment in moments:
        monkeypatch.setattr(ids, "time", lambda moment=moment: moment)
        made.append(new_id("ses"))
    assert made == sorted(made)
    assert {len(one) for one in made} == {28}
