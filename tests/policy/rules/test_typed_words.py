"""Words of a kind in rules that allow: what they match, and what they never do."""

from __future__ import annotations

import re
from typing import Any

import pytest
import re2

from app.core.errors import InvalidInput
from app.policy.risk.model import Verdict
from app.policy.rules.compile import compile_rule, read_definition
from app.policy.rules.review import includes
from app.policy.rules.typed_words import MIDDLES, TypedPattern, WordType
from tests.policy.verdicts import argv, deny, judge

MATCHED: list[tuple[WordType, str, str, str]] = [
    ("number", "tmp/run-", ".log", "tmp/run-12.log"),
    ("number", "", "", "0"),
    ("version", "", "", "1.2"),
    ("version", "shop@", "", "shop@v1.2.3-rc.1"),
    ("version", "", ".gem", "1.2.3rc1.gem"),
    ("path", "", "", "a"),
    ("path", "src/", ".py", "src/a/b_c.d.py"),
    ("path", ".cache/", "", ".cache/x.bin"),
    ("branch", "", "", "feature/cart-12"),
    ("branch", "fix/", "", "fix/x"),
    ("url", "https://docs.example/", "", "https://docs.example/a/b?c=d&e=1"),
]
NOT_MATCHED: list[tuple[WordType, str, str, str]] = [
    ("number", "tmp/run-", ".log", "tmp/run-.log"),
    ("number", "tmp/run-", ".log", "tmp/run-1a.log"),
    ("number", "", "", "-1"),
    ("number", "aa", "aa", "aaa"),
    ("version", "", "", "1"),
    ("version", "", "", "1.2.gem"),
    ("version", "", "", "latest"),
    ("path", "", "", "/etc/passwd"),
    ("path", "", "", "~/x"),
    ("path", "", "", "-rf"),
    ("path", "src/", "", "src/../x"),
    ("path", "src/", "", "src/.env"),
    ("path", "src/", "", "src/a/.git/config"),
    ("path", "src/", "", "src/*"),
    ("path", "src/", "", "src/a b"),
    ("path", "src/", "", "src/a\nb"),
    ("path", "src/", "", "src/"),
    ("path", "src/", ".py", "src/a.pyc"),
    ("path", "", "", "host:x"),
    ("path", "", "", "a=/etc"),
    ("branch", "", "", "main"),
    ("branch", "", "", "Production"),
    ("branch", "", "", "+feature/x"),
    ("branch", "", "", "a:main"),
    ("branch", "", "", "a..b/.c"),
    ("url", "https://docs.example/", "", "https://docs.example.evil/"),
    ("url", "https://docs.example/", "", "https://docs.example/../x"),
    ("url", "https://docs.example/", "", "https://docs.example/%2e%2e/x"),
    ("url", "https://docs.example/", "", "https://docs.example/{a,b}"),
    ("url", "https://docs.example/", "", "https://docs.example/[1-9]"),
]


@pytest.mark.parametrize(("kind", "begins", "ends", "word"), MATCHED)
def test_a_word_of_the_kind_matches(kind: WordType, begins: str, ends: str, word: str) -> None:
    pattern = TypedPattern(kind, begins, ends)

    assert pattern.matches(word)
    if kind != "branch":
        assert re2.search(pattern.regex, word)


@pytest.mark.parametrize(("kind", "begins", "ends", "word"), NOT_MATCHED)
def test_another_word_does_not(kind: WordType, begins: str, ends: str, word: str) -> None:
    pattern = TypedPattern(kind, begins, ends)

    assert not pattern.matches(word)
    if kind != "branch":
        assert re2.search(pattern.regex, word) is None


def test_a_very_long_word_never_matches() -> None:
    assert not TypedPattern("path").matches("a" * 1_001)


def test_the_kinds_are_read_alike_by_both_engines() -> None:
    for text in MIDDLES.values():
        assert re2.compile(text) is not None
        assert re.compile(text) is not None


BELOW_TMP: dict[str, Any] = {
    "tool": "bash",
    "match": {"argv": ["rm", {"type": "path", "begins": "tmp/"}], "paths": ["/workspace/**"]},
    "decision": "allow",
}


@pytest.mark.parametrize(
    ("command", "verdict"),
    [
        ("rm tmp/a.log", Verdict.ALLOW),
        ("rm tmp/a/b.log && ls", Verdict.ALLOW),
        ("cd src && rm tmp/a.log", Verdict.ALLOW),
        ("rm tmp/../a", Verdict.ASK),
        ("rm tmp/*", Verdict.ASK),
        ("rm tmp/[ab].log", Verdict.ASK),
        ("rm tmp/{a,b}.log", Verdict.ASK),
        ('rm "tmp/$X"', Verdict.ASK),
        ("rm -f tmp/a.log", Verdict.ASK),
        ("rm tmp/a.log src/b", Verdict.ASK),
        ("sudo rm tmp/a.log", Verdict.ASK),
        ("cd /elsewhere && rm tmp/a.log", Verdict.ASK),
        ("cd tmp; rm tmp/a.log", Verdict.ALLOW),
        ("rm tmp/a.log > /elsewhere/x", Verdict.ASK),
    ],
)
def test_an_allow_rule_covers_words_of_its_kind(command: str, verdict: Verdict) -> None:
    assert judge(command, BELOW_TMP).verdict is verdict


@pytest.mark.parametrize(
    ("match", "path"),
    [
        ({"argv": [{"type": "path"}]}, "match.argv"),
        ({"argv": ["rm", {"type": "folder"}]}, "match.argv[1].type"),
        ({"argv": ["rm", {"type": "path", "begins": "/etc/"}]}, "match.argv[1]"),
        ({"argv": ["rm", {"type": "path", "begins": "a/../b/"}]}, "match.argv[1]"),
        ({"argv": ["rm", {"type": "path", "begins": "-"}]}, "match.argv[1]"),
        ({"argv": ["rm", {"type": "path", "begins": "a*"}]}, "match.argv[1].begins"),
        ({"argv": ["curl", {"type": "url"}]}, "match.argv[1]"),
        ({"argv": ["curl", {"type": "url", "begins": "https://a.example"}]}, "match.argv[1]"),
        ({"argv": ["rm", {"type": "path", "below": "x"}]}, "match.argv[1].below"),
    ],
)
def test_an_invalid_typed_word_names_its_place(match: dict[str, Any], path: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        read_definition({"tool": "bash", "match": match, "decision": "allow"})

    assert [problem["path"] for problem in caught.value.details["errors"]] == [path]


@pytest.mark.parametrize("decision", ["ask", "deny"])
def test_only_rules_that_allow_have_typed_words(decision: str) -> None:
    body = {**BELOW_TMP, "decision": decision, "justification": "because"}

    with pytest.raises(InvalidInput, match="typed words only allow"):
        read_definition(body)


def test_a_rule_with_typed_words_has_working_examples() -> None:
    examples = {"match": ["rm tmp/a"], "not_match": ["rm tmp/.a", "rm src/a"]}
    body = {**BELOW_TMP, "examples": examples}

    rule = compile_rule("r", read_definition(body))

    assert rule.programs == frozenset({"rm"})
    assert rule.needed == ()


@pytest.mark.parametrize(
    ("wide", "narrow", "included"),
    [
        ({"type": "path", "begins": "tmp/"}, "tmp/a.log", True),
        ({"type": "path", "begins": "tmp/"}, "tmp/.a", False),
        ({"type": "path"}, {"type": "path", "begins": "tmp/", "ends": ".log"}, True),
        ({"type": "path", "begins": "tmp/"}, {"type": "path"}, False),
        ({"type": "path", "ends": ".log"}, {"type": "path", "begins": "tmp/"}, False),
        ({"type": "number"}, {"type": "path"}, False),
        ({"type": "number"}, {"type": "number"}, True),
        ("tmp/a.log", {"type": "path"}, False),
    ],
)
def test_a_rule_may_include_another(wide: Any, narrow: Any, *, included: bool) -> None:
    one, two = (
        read_definition({"tool": "bash", "match": {"argv": ["rm", word]}, "decision": "allow"})
        for word in (wide, narrow)
    )

    assert includes(one, two) is included


def test_a_denial_still_wins() -> None:
    kept = deny(**argv("rm", "tmp/keep.log"))

    assert judge("rm tmp/keep.log", BELOW_TMP, kept).verdict is Verdict.DENY
