"""Every built-in tool and every group of them has its words in Chinese, and no other has."""

from __future__ import annotations

import json
from pathlib import Path

from app.catalog.builtin import BUILTIN_TOOLSETS, toolset_tools
from tests.support.translations import in_order

ROOT = Path(__file__).resolve().parents[2]
CHINESE = json.loads((ROOT / "web/src/i18n/tools.zh.json").read_text(encoding="utf-8"))
TOOLS = [tool for module in BUILTIN_TOOLSETS for tool in toolset_tools(module)]
MOST_CHARACTERS = 45


def _is_chinese(text: str) -> bool:
    return any("一" <= character <= "鿿" for character in text)


def test_what_has_a_sentence_is_a_tool_and_at_a_release_every_one_has_one():
    in_order([tool.name for tool in TOOLS], CHINESE["tools"])
    for name, sentence in CHINESE["tools"].items():
        assert _is_chinese(sentence), name
        assert sentence.endswith("。"), name
        assert len(sentence) <= MOST_CHARACTERS, name


def test_what_has_a_name_is_a_group_and_at_a_release_every_one_has_one():
    groups = {tool.toolset for tool in TOOLS} | {tool.category for tool in TOOLS}
    named = {group for group in groups if not _is_chinese(group)}
    in_order(sorted(named), CHINESE["groups"])
    assert all(map(_is_chinese, CHINESE["groups"].values()))
