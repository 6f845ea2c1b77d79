"""How well memories are found in both languages, and that plain tokenizers do not do it."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence

import pytest

from tests.knowledge.memory.conftest import Kept
from tests.knowledge.memory.labelled import MEMORIES, QUERIES

RECALL_AT_5, MRR = 0.95, 0.93
NAIVE = ("unicode61", "porter unicode61", "trigram")


def figures(found: Sequence[Sequence[str]]) -> tuple[float, float]:
    """Recall among the first five, and the mean reciprocal rank of the first right one."""
    recall = reciprocal = 0.0
    for (_, wanted), keys in zip(QUERIES, found, strict=True):
        recall += sum(key in keys[:5] for key in wanted) / len(wanted)
        reciprocal += next((1 / at for at, key in enumerate(keys, 1) if key in wanted), 0.0)
    return recall / len(QUERIES), reciprocal / len(QUERIES)


def test_the_labelled_set_is_what_it_claims_to_be():
    assert len(MEMORIES) >= 120
    assert len(QUERIES) >= 40
    assert {key for _, wanted in QUERIES for key in wanted} <= MEMORIES.keys()


async def test_memories_are_found_in_both_languages(kept: Kept, capsys: pytest.CaptureFixture[str]):
    for key, content in MEMORIES.items():
        await kept.save(content, key)
    key_of = {content: key for key, content in MEMORIES.items()}
    found = [[key_of[text] for text in await kept.recalled(query)] for query, _ in QUERIES]

    recall, reciprocal = figures(found)
    with capsys.disabled():
        print(f"\nmemory: recall@5 {recall:.3f}, MRR {reciprocal:.3f}, {len(QUERIES)} queries")
    assert recall >= RECALL_AT_5
    assert reciprocal >= MRR


@pytest.mark.parametrize("tokenizer", NAIVE)
def test_a_plain_tokenizer_would_not_reach_that(tokenizer: str, capsys: pytest.CaptureFixture[str]):
    index = sqlite3.connect(":memory:")
    index.execute(f"CREATE VIRTUAL TABLE w USING fts5(key UNINDEXED, text, tokenize='{tokenizer}')")
    index.executemany("INSERT INTO w VALUES (?, ?)", MEMORIES.items())
    found = []
    for query, _ in QUERIES:
        words = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", query))
        sql = "SELECT key FROM w WHERE w MATCH ? ORDER BY rank LIMIT 15"
        found.append([key for (key,) in index.execute(sql, (words,))])
    index.close()

    recall, reciprocal = figures(found)
    with capsys.disabled():
        print(f"\n{tokenizer}: recall@5 {recall:.3f}, MRR {reciprocal:.3f}")
    assert recall < RECALL_AT_5
    assert reciprocal < MRR
