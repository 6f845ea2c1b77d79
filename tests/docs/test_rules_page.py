"""The rules on the page are rules, and their examples hold."""

from __future__ import annotations

import re

from app.governance.rule_file import parse_rules
from app.policy.rules.compile import load_rule
from tests.support.source import ROOT


def test_the_rules_on_the_page_hold():
    page = (ROOT / "docs" / "rules.md").read_text(encoding="utf-8")
    found = re.search(r"```yaml\n(.*?)```", page, re.DOTALL)
    assert found is not None

    entries = parse_rules(found[1].encode(), "the page")

    assert [load_rule(f"r{at}", entry)[2] for at, entry in enumerate(entries)] == [[], [], []]
