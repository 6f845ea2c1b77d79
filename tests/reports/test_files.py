"""Files in other encodings and with other line ends, patches as models wrap them."""

from __future__ import annotations

import re
from typing import Any

import pytest

from app.execution.outcome import CallOutcome
from tests.execution.lab import Lab
from tests.reports.rows import Given, Row, rows, shown

_HINT = re.compile(r"encoding='([\w-]+)'")


def _plain(text: str) -> str:
    """Text as an editor compares it: what ends a line is no part of it."""
    return text.replace("\r\n", "\n")


@pytest.mark.parametrize("row", rows("files_encoding_kept*.jsonl"))
async def test_what_is_written_stays_in_the_encoding_of_the_file(house: Lab, row: Row):
    given = Given(house, row)
    outcome = await given.call()
    right = row["right"]
    if not outcome.success:
        assert "refused_and_unchanged" in right["either"]
        assert given.after == given.before
        return
    assert _plain(given.after.decode(right["codec"])).endswith(right["ends_with"])


@pytest.mark.parametrize("row", rows("files_stray_bytes_readable*.jsonl"))
async def test_a_text_with_a_few_stray_bytes_is_read(house: Lab, row: Row):
    outcome = await Given(house, row).call()
    _check(outcome, row["right"])


@pytest.mark.parametrize("row", rows("files_wrong_charset_hint*.jsonl"))
async def test_an_encoding_that_is_named_as_a_hint_is_the_right_one(house: Lab, row: Row):
    outcome = await Given(house, row).call()
    right = row["right"]["hint_if_any_decodes_to"]
    if outcome.success:
        assert right.splitlines()[0] in shown(outcome)
        return
    before = bytes.fromhex(row["before"])
    for hint in _HINT.findall(outcome.text):
        assert before.decode(hint) == right


@pytest.mark.parametrize("row", rows("files_wrong_charset_shown*.jsonl"))
async def test_letters_are_shown_as_they_are_or_not_at_all(house: Lab, row: Row):
    outcome = await Given(house, row).call()
    if outcome.success:
        assert row["right"]["shows"] in shown(outcome)


@pytest.mark.parametrize("row", rows("grep_line_end*.jsonl"))
async def test_the_end_of_a_line_is_found_whatever_ends_it(house: Lab, row: Row):
    outcome = await Given(house, row).call()
    _check(outcome, row["right"])


@pytest.mark.parametrize("row", rows("grep_encoding*.jsonl"))
async def test_letters_are_found_and_shown_in_the_encoding_of_the_file(house: Lab, row: Row):
    outcome = await Given(house, row).call()
    _check(outcome, row["right"])


@pytest.mark.parametrize("row", rows("files_bytes_kept*.jsonl"))
async def test_every_byte_that_is_not_changed_stays(house: Lab, row: Row):
    given = Given(house, row)
    outcome = await given.call()
    assert outcome.success is row["right"]["success"], outcome.text
    assert given.after == bytes.fromhex(row["right"]["after"])


@pytest.mark.parametrize("row", rows("patch_*.jsonl"))
async def test_a_patch_is_read_through_its_wrapping_and_put_where_it_belongs(house: Lab, row: Row):
    given = Given(house, row)
    outcome = await given.call()
    right = row["right"]
    assert outcome.success is right["success"], outcome.text
    assert given.after == bytes.fromhex(right["after"])


def _check(outcome: CallOutcome, right: dict[str, Any]) -> None:
    text = shown(outcome)
    assert outcome.success is right["success"], text
    assert right["contains"] in text
    if "not_contains" in right:
        assert right["not_contains"] not in text
