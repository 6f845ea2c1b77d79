"""How texts are cut into words, and questions into expressions that are always valid."""

from __future__ import annotations

import sqlite3

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.memory import MatchMode
from app.knowledge.memory.fts5_index import Fts5Index
from app.knowledge.memory.search_query import MAX_WORDS, read_question, tag_word
from app.knowledge.memory.storage import MemoryQuery
from app.knowledge.memory.words import normalised, stem_of, words_of

HOSTILE = (
    *('"', '""', "'", "*", "^", "NEAR(a b)", "a NEAR/2 b", "words : x", "-a", "(", "a AND", "OR"),
    *("a\0b", "\ud800", "🚀", "a" * 100_000, "NOT a", "{place tags} : 1", '"a', "x*y*", "+", "\\"),
    *(
        "place:1 OR 1",
        ' "1" OR place : "2"',
        "%",
        "_",
        ";DROP TABLE memories",
        "\u202e",
        "数" * 5000,
    ),
)


@pytest.fixture(scope="module")
def index() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    connection.execute(
        "CREATE VIRTUAL TABLE w USING fts5(place, tags, words, tokenize=\"ascii tokenchars '_'\")"
    )
    return connection


def matches(index: sqlite3.Connection, stored: str, asked: str, mode: MatchMode = "and") -> bool:
    """Whether a question finds a text."""
    expression = read_question(asked, mode).expression
    index.execute("DELETE FROM w")
    index.execute("INSERT INTO w VALUES ('7', '', ?)", (" ".join(words_of(stored)),))
    if expression is None:
        return False
    _, match = Fts5Index().condition(MemoryQuery([7], (), expression))
    return bool(index.execute("SELECT 1 FROM w WHERE w MATCH ?", match).fetchall())


def test_chinese_is_cut_into_characters_and_pairs_and_the_rest_into_words_and_stems():
    assert words_of("Caching 缓存") == [
        *("caching", "_cach"),
        *(f"_{ord('缓')}", f"_{ord('缓')}_{ord('存')}", f"_{ord('存')}"),
    ]


@pytest.mark.parametrize(
    ("stored", "asked"),
    [
        ("项目的数据库是达梦", "数据库"),
        ("用Redis缓存", "redis"),
        ("ＰｏｓｔｇｒｅＳＱＬ", "postgresql"),
        ("Crème brûlée", "creme BRULEE"),
        ("deployments on Tuesday", "deploy"),
        ("we retried it", "retry retries retrying"),
        ("configuration", "config*"),
        ("数据库迁移脚本", '"迁移脚本"'),
        ("the quick brown fox", '"quick brown"'),
        ("the quick brown fox", "“brown fox”"),
        ("рабочая база", "база"),
        ("to the moon 🚀", "🚀"),
        ("カタカナの名前", "名前"),
        ("C3PO version 2.1", "c3po 2"),
    ],
)
def test_a_question_finds_what_it_should(index: sqlite3.Connection, stored: str, asked: str):
    assert matches(index, stored, asked)


@pytest.mark.parametrize(
    ("stored", "asked"),
    [
        ("项目的数据库是达梦", "据数"),
        ("the quick brown fox", '"brown quick"'),
        ("数据很大,库存不足", "数据库"),
        ("deploy", "reploy"),
        ("alpha", "alpha beta"),
        ("product", "prod"),
    ],
)
def test_a_question_does_not_find_what_it_should_not(
    index: sqlite3.Connection, stored: str, asked: str
):
    assert not matches(index, stored, asked)


@pytest.mark.parametrize("mode", ["or", "and"])
@pytest.mark.parametrize("asked", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_questions_are_words_or_nothing(
    index: sqlite3.Connection, asked: str, mode: MatchMode
):
    matches(index, "nothing of that kind", asked, mode)


@given(st.text(max_size=60), st.text(max_size=60), st.sampled_from(["or", "and"]))
@settings(max_examples=300, deadline=None)
def test_whatever_is_asked_is_a_valid_expression(stored: str, asked: str, mode: MatchMode):
    with_index = sqlite3.connect(":memory:")
    with_index.execute(
        "CREATE VIRTUAL TABLE w USING fts5(place, tags, words, tokenize=\"ascii tokenchars '_'\")"
    )
    matches(with_index, stored, asked, mode)
    with_index.close()


@given(st.text(alphabet="数据库迁移 abc,1", min_size=1, max_size=20), st.integers(0, 19))
@settings(max_examples=300, deadline=None)
def test_the_words_of_a_piece_of_chinese_stand_side_by_side_in_those_of_the_whole(
    text: str, start: int
):
    runs = "".join(character for character in text if character > "z")
    piece = runs[start : start + 4]
    whole, part = words_of(runs), words_of(piece)
    assert any(whole[at : at + len(part)] == part for at in range(len(whole) + 1))


def test_too_many_words_are_counted_not_forgotten():
    asked = read_question(" ".join(f"word{number}" for number in range(MAX_WORDS + 9)), "and")
    assert asked.left_out == 9


def test_words_that_say_nothing_are_asked_for_when_there_is_nothing_else():
    assert read_question("what is it", "or").expression is not None
    assert read_question("我们", "or").expression is not None


def test_a_tag_is_one_word_of_digits_whatever_is_in_it():
    assert tag_word("Work ") == tag_word("work") != tag_word("work-2")
    assert tag_word('" OR place : "1').isdigit()


@pytest.mark.parametrize(
    "family",
    [
        ("cache", "caches", "cached", "caching"),
        ("deploy", "deploys", "deployed", "deploying", "deployment", "deployments"),
        ("retry", "retries", "retried", "retrying"),
        ("migrate", "migrated", "migration", "migrations"),
        ("run", "running"),
        ("indent", "indentation", "indented"),
    ],
)
def test_forms_of_a_word_have_one_stem(family: tuple[str, ...]):
    assert len({stem_of(word) for word in family}) == 1, {word: stem_of(word) for word in family}


def test_other_words_keep_apart():
    words = ("string", "red", "ring", "sing", "bus", "class", "news", "document", "station")
    assert len({stem_of(word) for word in words}) == len(words)
    assert stem_of("v2") == "v2"


@pytest.mark.parametrize("marks", ["\u0301\u0316", "\u0f71\u0f72\u0f74", "\U0001d165\U0001d167"])
def test_a_long_run_of_marks_is_cut_before_it_is_put_in_order(marks: str):
    # Uncut, normalising takes the square of its length: minutes for what a caller may send.
    long = f"a{marks * 100_000} end"
    assert words_of(long)[-2:] == ["end", "_end"]
    assert len(normalised(long)) < 100
