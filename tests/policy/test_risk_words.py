"""Every reason for which a command asks or is denied has a word in the reader's language."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MAKERS = frozenset({"Hit", "ask", "deny", "Finding", "_said"})


def test_every_code_of_a_finding_has_a_chinese_word_and_no_other_has():
    words = json.loads((ROOT / "web/src/i18n/risks.zh.json").read_text(encoding="utf-8"))
    assert set(words) == set(_codes())
    assert all(words.values())


def _codes() -> Iterator[str]:
    """The codes that findings are made with in `app/policy`, as the sources tell."""
    for path in (ROOT / "app/policy").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            code = node.args[0]
            if name in MAKERS and isinstance(code, ast.Constant):
                yield str(code.value)
