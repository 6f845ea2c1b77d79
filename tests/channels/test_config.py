"""Configurations of channels, names of groups, marks on texts."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.channels.config import read_config
from app.channels.texts import hidden_mark, marked
from app.core.errors import InvalidInput
from app.core.text_checks import name_problem, text_problem

TASK = "dtk_00f1e2d3c4b5a697887969ff"


def test_what_is_not_said_is_switched_off():
    reply = read_config({}).weixin_reply
    assert (reply.enabled, reply.auto_reply, reply.targets) == (False, False, ())


@pytest.mark.parametrize(
    "reply",
    [
        {"enabled": "true"},
        {"enabled": 1},
        {"enabled": True},
        {"enabled": True, "targets": []},
        {"targets": ["a\u200bb"]},
        {"targets": [" a"]},
        {"targets": ["a\nb"]},
        {"targets": ["\x1b[2J"]},
        {"targets": ["\u202egnp"]},
        {"targets": [""]},
        {"targets": "all"},
        {"watermark": "visible"},
        {"suffix": " "},
        {"suffix": "\x03"},
        {"perMinute": 0},
        {"auto_reply": True},
        {"unknown": 1},
    ],
)
def test_a_configuration_that_does_not_fit_is_refused_by_name(reply: dict[str, Any]):
    with pytest.raises(InvalidInput, match=r"config\.weixinReply"):
        read_config({"weixinReply": reply})


@pytest.mark.parametrize("value", [None, [], "x", {"weixinreply": {}}, {"weixinReply": []}])
def test_a_configuration_is_an_object_of_known_parts(value: Any):
    with pytest.raises(InvalidInput):
        read_config(value)


def test_a_configuration_is_stored_as_it_is_read():
    given_config = {
        "enabled": True,
        "targets": ["客户群 👨‍👩‍👧"],
        "operators": ["deb"],
        "perMinute": 3,
    }
    stored = read_config({"weixinReply": given_config}).to_json()
    assert stored["weixinReply"] | given_config == stored["weixinReply"]
    assert read_config(stored).to_json() == stored


@pytest.mark.requirement("WXD-05")
def test_the_three_marks_differ_as_they_should():
    assert marked("hi", "none", TASK, "[AI]") == "hi"
    assert marked("hi", "suffix", TASK, "[AI]") == "hi\n[AI]"
    hidden = marked("hi", "zero-width", TASK, "[AI]")
    assert hidden.replace("\u200b", "").replace("\u2060", "").replace("\u2063", "") == "hi"
    assert hidden_mark(hidden) == TASK.removeprefix("dtk_")


@pytest.mark.parametrize("how", ["none", "suffix", "zero-width"])
def test_a_mark_that_a_text_brings_along_is_taken_out(how: Any):
    forged = marked("hi", "zero-width", "dtk_" + "f" * 24, "")
    found = hidden_mark(marked(forged, how, TASK, "[AI]"))
    assert found == (TASK.removeprefix("dtk_") if how == "zero-width" else None)


@pytest.mark.parametrize("end", ["", "\u2063", "\u200b", "x"])
def test_a_text_cannot_begin_a_mark_that_ours_would_end(end: str):
    forged = "hi\u2063" + "\u2060" * 96 + end
    assert hidden_mark(marked(forged, "zero-width", TASK, "")) == TASK.removeprefix("dtk_")


@given(st.text(max_size=50), st.integers(min_value=0, max_value=16**24 - 1))
def test_a_hidden_mark_is_found_in_any_text(text: str, number: int):
    digits = f"{number:024x}"
    assert hidden_mark(marked(text, "zero-width", f"dtk_{digits}", "")) == digits


@pytest.mark.parametrize(
    "text", ["", "a\nb\tc", "你好 👨‍👩‍👧 ❤️", "عربي\u200f", "a\u200bb", "'\"$`\\"]
)
def test_texts_of_all_scripts_can_be_typed(text: str):
    assert text_problem(text) is None


@pytest.mark.parametrize("code", [0, 3, 8, 0x0D, 0x1B, 0x7F, 0x9B, 0x2028, 0xD800, 0xE000, 0xFFFE])
def test_controls_and_what_is_no_character_cannot_be_typed(code: int):
    assert f"U+{code:04X}" in str(text_problem(f"a{chr(code)}b"))
    assert f"U+{code:04X}" in str(name_problem(f"a{chr(code)}b"))


@pytest.mark.parametrize(
    "name", ["", " a", "a ", "a\u200b", "\u2060", "a\u202eb", "\ufeffa", "a\n"]
)
def test_names_that_hide_something_are_no_names(name: str):
    assert name_problem(name) is not None
