"""Every warning about a rule has its words in Chinese, and no other code has."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path

from tests.support.translations import in_order

ROOT = Path(__file__).resolve().parents[3]
CHINESE = json.loads((ROOT / "web/src/i18n/rules.zh.json").read_text(encoding="utf-8"))


def test_what_has_words_is_a_warning_and_at_a_release_every_one_has_some():
    codes = set(_codes())
    assert None not in codes, "a code that is built cannot be held to its words"
    in_order(sorted(code for code in codes if code), CHINESE)
    for code, words in CHINESE.items():
        assert any("一" <= character <= "鿿" for character in words), code


def _codes() -> Iterator[str | None]:
    """The first of each pair that the review yields; None for one that is no plain text."""
    source = (ROOT / "app/policy/rules/review.py").read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Yield) and isinstance(node.value, ast.Tuple):
            first = node.value.elts[0]
            yield str(first.value) if isinstance(first, ast.Constant) else None
