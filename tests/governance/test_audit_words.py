"""Every kind of the audit has its words on the audit's page."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WORDS = ROOT / "web/src/i18n/auditWords.ts"
WRITERS = frozenset({"AuditEntry", "ConfigSchema", "_row", "_note", "note"})
KIND = re.compile(
    r"(?:audit|auth|call|checkpoint|confirmation|escalation|forum|governance|hook|limit|memory"
    r"|notification|question|sql|ticket|token|webhook)\.[a-z_]+|schedule"
)


def test_every_kind_that_is_written_has_its_words():
    text = WORDS.read_text(encoding="utf-8")
    known = set(re.findall(r'^  "?([a-z._]+)"?: \[', text, flags=re.MULTILINE))
    written = set(_kinds())
    assert {"call.finished", "auth.login", "governance.rule", "governance.channel"} <= written
    assert written - known == set()


def _kinds() -> Iterator[str]:
    for path in (ROOT / "app").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if name not in WRITERS:
                continue
            named = [keyword.value for keyword in node.keywords if keyword.arg == "kind"]
            for argument in (*node.args[:2], *named):
                value = getattr(argument, "value", None)
                if isinstance(value, str) and KIND.fullmatch(value):
                    yield value
