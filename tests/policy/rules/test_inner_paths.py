"""Paths that stand inside a text are held against rules like any other."""

from __future__ import annotations

from typing import Any

import pytest

from app.policy.evaluator import decide
from app.policy.facts import CallFacts
from app.policy.risk.model import Verdict
from app.policy.rules.compile import load_rule
from app.policy.rules.rule_set import RuleSet
from app.tools.files.patch import PatchArgs, patch

SECRETS = {
    "tool": "*",
    "decision": "deny",
    "justification": "not yours",
    "match": {"paths": ["secrets/**"]},
}
SOURCES = {"tool": "patch", "decision": "allow", "match": {"paths": ["src/**"]}}


def verdict(text: str, *rules: dict[str, Any], asks: bool = False) -> Verdict:
    arguments = PatchArgs(patch=text)
    facts = CallFacts(
        patch, arguments, arguments.model_dump(), asks=asks, asks_by="tool" if asks else None
    )
    tools = {patch.name: patch}
    loaded = [load_rule(f"r{at}", body, tools) for at, body in enumerate(rules)]
    assert all(problems == [] for *_, problems in loaded)
    rule_set = RuleSet([rule for rule, *_ in loaded if rule is not None], tools)
    return decide(facts, rules=rule_set).verdict


def v4a(*lines: str) -> str:
    return "\n".join(["*** Begin Patch", *lines, "*** End Patch"])


@pytest.mark.parametrize(
    "text",
    [
        v4a("*** Update File: secrets/key", "-a", "+b"),
        v4a("*** Add File: ok", "+x", "*** Add File: ./secrets//new", "+x"),
        v4a("*** Delete File: src/../secrets/key"),
        v4a("*** Move File: secrets/key -> public"),
        v4a("*** Update File: public", "*** Move to: secrets/key", "-a", "+b"),
        v4a("*** Update File: /workspace/secrets/key", "-a", "+b"),
        "--- a/secrets/key\n+++ b/secrets/key\n@@ -1 +1 @@\n-a\n+b\n",
        "--- secrets/key\n+++ secrets/key\n@@ -1 +1 @@\n-a\n+b\n",
        '--- "a/se\\143rets/key"\n+++ "b/se\\143rets/key"\n@@ -1 +1 @@\n-a\n+b\n',
        "diff --git a/secrets/key b/secrets/key\nold mode 100644\nnew mode 100755\n",
        "diff --git a/x b/y\nrename from x\nrename to secrets/key\n",
        "--- a/ok\n+++ b/ok\n@@ -1 +1 @@\n-a\n+b\n"
        "--- /dev/null\n+++ b/secrets/new\n@@ -0,0 +1 @@\n+x",
        v4a("*** Delete File: secrets/key").replace("\n", "\r\n"),
    ],
)
def test_a_deny_of_a_path_denies_a_patch_that_touches_it(text: str):
    assert verdict(text, SECRETS) is Verdict.DENY


def test_a_patch_of_other_files_is_not_denied():
    text = v4a("*** Update File: src/a", "-secrets/key", "+b", "*** Add File: secrets.txt", "+x")

    assert verdict(text, SECRETS) is Verdict.ALLOW


def test_a_patch_that_cannot_be_read_asks_where_a_rule_might_deny_it():
    assert verdict("*** Begin Patch\n*** Delete File: secrets/key", SECRETS) is Verdict.ASK


def test_an_allow_needs_every_path_of_the_patch():
    inside = v4a("*** Update File: src/a", "-a", "+b", "*** Delete File: src/b/c")
    partly = v4a("*** Update File: src/a", "-a", "+b", "*** Delete File: README.md")

    assert verdict(inside, SOURCES, asks=True) is Verdict.ALLOW
    assert verdict(partly, SOURCES, asks=True) is Verdict.ASK
