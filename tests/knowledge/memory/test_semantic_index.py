"""Memories found by what they mean, with a server that knows a few things.

Packing vectors, and finding the nearest.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.memory import MemoryScope, Recalled, RecallQuery
from app.knowledge.memory import semantic_index
from app.knowledge.memory.semantic_index import NOTHING, Packed, likeness, nearest, packed
from tests.knowledge.memory.conftest import ANN, Databases, Kept, keeping
from tests.support.model_api import Asked, Maker, making

THINGS = (
    ("wireless", "wlan", "无线"),
    ("holiday", "vacation", "休假"),
    ("car", "vehicle", "汽车"),
    ("food", "lunch", "午饭"),
)
WIFI = "Guests use the wireless network called harbour"
LEAVE = "Ben takes his vacation in August"
REFUSED = "a text that no server takes"

numbers = st.floats(-1e6, 1e6, allow_nan=False)
vectors = st.lists(numbers, min_size=1, max_size=40).filter(lambda v: any(abs(n) > 1e-3 for n in v))


def meant(asked: Asked) -> dict[str, Any]:
    """For each text a number for each thing: whether it speaks of it."""
    texts = [text.lower() for text in asked.json()["input"]]
    vectors = [[float(any(name in text for name in names)) for names in THINGS] for text in texts]
    return {
        "data": [
            {"index": at, "embedding": [*vector, 0.1, -0.1]} for at, vector in enumerate(vectors)
        ]
    }


@pytest.fixture
async def server() -> AsyncIterator[Maker]:
    async with making() as maker:
        maker.answer = meant
        yield maker


@pytest.fixture(params=["sqlite", "postgres"])
async def kept(request: pytest.FixtureRequest, folder: Path, server: Maker) -> AsyncIterator[Kept]:
    chosen: dict[str, Any] = {"embeddings_url": server.url, "embeddings_model": "things"}
    if request.param == "postgres":
        databases: Databases = request.getfixturevalue("databases")
        chosen["postgres"] = databases.address()
    async with keeping(folder, **chosen) as opened:
        yield opened


async def recall(kept: Kept, query: str, place: MemoryScope = ANN, **wanted: Any) -> Recalled:
    return await kept.store.recall([place], RecallQuery(query, **wanted))


async def found_at_last(kept: Kept, query: str, count: int = 1) -> list[str]:
    """What is recalled once the vectors that are being made are there."""
    async with asyncio.timeout(60):
        while True:
            found = await kept.recalled(query)
            if len(found) >= count:
                return found


async def test_other_words_and_another_language_find_what_is_meant(kept: Kept):
    await kept.save(WIFI)
    await kept.save(LEAVE)
    assert await found_at_last(kept, "无线") == [WIFI]
    assert await found_at_last(kept, "WLAN") == [WIFI]
    assert await found_at_last(kept, "休假") == [LEAVE]
    assert await kept.recalled("汽车") == []


async def test_what_words_and_meaning_find_stands_before_what_one_of_them_finds(kept: Kept):
    await kept.save("The vehicle stands in the yard", "meant")
    await kept.save("The old rug of the blue room", "none")
    await kept.save("The car has a blue roof", "both")
    await kept.save("A blue wall", "word")
    await found_at_last(kept, "vehicle", 2)
    found = await recall(kept, "blue car")
    assert found.lines[0].memory.key == "both"
    assert {line.memory.key for line in found.lines} == {"both", "meant", "none", "word"}
    assert found.matched == 4


@pytest.mark.parametrize(
    ("query", "mode"), [('"wlan"', "or"), ("wlan*", "or"), ("wlan", "and")], ids=str
)
async def test_who_wants_these_very_words_gets_no_others(
    kept: Kept, server: Maker, query: str, mode: Any
):
    await kept.save(WIFI)
    await found_at_last(kept, "WLAN")
    asked = len(server.asked)
    found = await recall(kept, query, mode=mode)
    assert (list(found.lines), found.words_alone) == ([], False)
    assert len(server.asked) == asked


async def test_a_place_and_tags_hold_for_meanings_too(kept: Kept):
    await kept.save(WIFI, tags=("office",))
    await kept.save("Another wireless network", tags=("home",))
    await kept.save("Bob's wireless network", place=MemoryScope("user", "bob"), tags=("office",))
    await found_at_last(kept, "无线", 2)
    assert await kept.recalled("无线", tags=("office",)) == [WIFI]


async def test_what_is_changed_or_forgotten_is_not_found_by_what_it_meant(kept: Kept):
    saved = await kept.save(WIFI, "note")
    await found_at_last(kept, "无线")
    await kept.save("Lunch is at noon", "note", expected=saved.memory.version)
    assert await kept.recalled("无线") == []
    assert await found_at_last(kept, "午饭") == ["Lunch is at noon"]
    await kept.store.forget(ANN, "note", expected=None)
    assert await kept.recalled("午饭") == []


async def test_a_server_that_fails_leaves_the_words_and_is_left_alone(kept: Kept, server: Maker):
    server.status = 503
    await kept.save(WIFI)
    found = await recall(kept, "wireless")
    assert [line.memory.content for line in found.lines] == [WIFI]
    assert found.words_alone
    assert (await recall(kept, "wireless again")).words_alone
    assert [asked for asked in server.asked if b"again" in asked.body] == []


async def test_it_goes_on_when_the_server_is_back(
    kept: Kept, server: Maker, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(semantic_index, "REST_S", 0.0)
    server.status = 503
    await kept.save(WIFI)
    assert (await recall(kept, "WLAN")).words_alone
    server.status = 200
    assert await found_at_last(kept, "WLAN") == [WIFI]


async def test_one_text_that_is_refused_holds_up_no_other(kept: Kept, server: Maker):
    def picky(asked: Asked) -> Any:
        server.status = 400 if REFUSED in asked.json()["input"] else 200
        return meant(asked)

    server.answer = picky
    await kept.save(REFUSED)
    await kept.save(WIFI)
    assert await found_at_last(kept, "WLAN") == [WIFI]
    assert await found_at_last(kept, "text") == [REFUSED]


async def test_a_server_that_refuses_everything_has_refused_no_text(
    kept: Kept, server: Maker, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(semantic_index, "REST_S", 0.0)
    server.status = 400
    await kept.save(WIFI)
    async with asyncio.timeout(60):
        while not any(b'"hello"' in asked.body for asked in server.asked):
            await recall(kept, "nothing of this")
    server.status = 200
    assert await found_at_last(kept, "WLAN") == [WIFI]


async def test_what_an_administrator_changes_is_found_by_what_it_means_then(kept: Kept):
    saved = await kept.save(WIFI)
    await found_at_last(kept, "WLAN")
    await kept.admin.change(saved.memory.id, content=LEAVE, tags=None, actor="ann")
    assert await found_at_last(kept, "休假") == [LEAVE]


async def test_what_a_newer_pattern_calls_a_secret_is_not_sent(folder: Path, server: Maker):
    async with keeping(folder) as kept:
        await kept.save(f"{WIFI} employee-4711")
    url = server.url
    async with keeping(folder, embeddings_url=url) as kept:
        kept.redactor.learn("a newer source", ["employee-4711"])
        assert len(await found_at_last(kept, "WLAN")) == 1
    assert [asked for asked in server.asked if b"4711" in asked.body] == []


async def test_a_question_of_nothing_asks_nobody(kept: Kept, server: Maker):
    found = await recall(kept, "   ")
    assert (list(found.lines), found.words_alone, server.asked) == ([], False, [])


async def test_a_secret_in_a_question_is_not_sent(kept: Kept, server: Maker):
    await recall(kept, "what is ghp_16C7e42F292c6912E7710c838347Ae178B4a for")
    assert server.asked
    assert [asked for asked in server.asked if b"ghp_16C7e42F" in asked.body] == []


async def test_another_model_reads_everything_again(folder: Path, server: Maker):
    async with keeping(folder, embeddings_url=server.url, embeddings_model="one") as kept:
        await kept.save(WIFI)
        await found_at_last(kept, "WLAN")
    async with keeping(folder, embeddings_url=server.url, embeddings_model="two") as kept:
        assert await found_at_last(kept, "WLAN") == [WIFI]
    assert server.asked[-1].json()["model"] == "two"


async def test_without_a_server_words_are_all_there_is(kept_in_sqlite: Kept):
    await kept_in_sqlite.save(WIFI)
    found = await recall(kept_in_sqlite, "WLAN")
    assert (list(found.lines), found.words_alone) == ([], False)


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
