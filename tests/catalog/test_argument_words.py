"""Every argument of a built-in tool has its words in Chinese, and no other has."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from app.catalog.builtin import BUILTIN_TOOLSETS, toolset_tools
from app.toolkit.tool import Tool
from tests.support.translations import in_order

ROOT = Path(__file__).resolve().parents[2]
CHINESE: dict[str, dict[str, str]] = json.loads(
    (ROOT / "web/src/i18n/arguments.zh.json").read_text(encoding="utf-8")
)
TOOLS = {tool.name: tool for module in BUILTIN_TOOLSETS for tool in toolset_tools(module)}
MOST_CHARACTERS = 90


def _arguments(tool: Tool) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = tool.parameters["properties"]
    return found


def test_what_has_a_sentence_is_an_argument_and_at_a_release_every_one_has_one():
    listed = {name: list(_arguments(tool)) for name, tool in TOOLS.items() if _arguments(tool)}
    in_order(listed, CHINESE)
    for name, words in CHINESE.items():
        in_order(listed[name], words)


@pytest.mark.parametrize("name", CHINESE)
def test_a_sentence_is_short_chinese(name: str):
    for argument, sentence in CHINESE[name].items():
        assert any("一" <= character <= "鿿" for character in sentence), argument
        assert sentence.endswith("。"), argument
        assert len(sentence) <= MOST_CHARACTERS, argument
        assert not re.search(r"[一-鿿][,;:!?]", sentence), argument


@pytest.mark.parametrize("name", CHINESE)
def test_a_sentence_names_the_numbers_that_the_argument_s_own_names(name: str):
    for argument, sentence in CHINESE[name].items():
        own = _arguments(TOOLS[name])[argument]["description"]
        assert set(re.findall(r"\d{2,}", own)) <= set(re.findall(r"\d{2,}", sentence)), argument
