"""Every machine code of an error has its words in Chinese, and no other code has."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.support.error_codes import Codes, Sources
from tests.support.translations import in_order

ROOT = Path(__file__).resolve().parents[2]
CHINESE = json.loads((ROOT / "web/src/i18n/codes.zh.json").read_text(encoding="utf-8"))
# What these are made with is source code, a status of a process, a finding or a provider's own
# word: other tests hold the words of findings.
OTHERS = frozenset(
    {
        *("Check", "Condition", "LevelStatus", "LevelView", "_Lack", "_short_of"),
        *("CodeFigures", "CodeView", "RiskFinding", "_code", "_said", "SegmentReason"),
        *("Close", "ProcessExit", "_instruction", "_picture", "describe", "meaning", "say"),
        *("CodeSpec", "ExecutePythonArgs", "Operations", "Work", "fake_workspace"),
        *("_needs", "_read", "_run", "_transcript", "check", "execute_python", "parse"),
        *("refused_syntax", "remember_source"),
        *("LintFinding", "ProviderFailure", "http_failure"),
        *("_example", "example"),
        # What is wrong with a field has words of its own.
        *("FieldError", "problem", "about_field"),
        "_hit",
    }
)
# Those of risks and rules are findings, those of linters and language servers are theirs, the
# problems of a schema name fields, and the command line is no browser.
WITHOUT = (
    "policy/risk/",
    "policy/rules/",
    "execution/doctor/",
    "tools/dev/lsp/answers.py",
    "cli/",
)
# Where a code is what an operator chose: the id of a rule, beside the words of `denied`; where
# it is the keyword of a schema; and where it is a field of a result's schema.
FREE = {
    "Refusal: execution/admission.py",
    "_named: catalog/json_schema.py",
    "dict: tools/channels/weixin_send_text.py",
}
NO_ERRORS = {"success", "running", "waiting"}


@pytest.fixture(scope="module")
def codes() -> Codes:
    return Sources.below(ROOT / "app", OTHERS, without=WITHOUT).codes()


def _of(**modules: str) -> Codes:
    return Sources({f"{name}.py": text for name, text in modules.items()}, OTHERS).codes()


def test_what_has_words_is_a_code_and_at_a_release_every_one_has_some(codes: Codes):
    in_order(sorted(set(codes.texts) - NO_ERRORS), CHINESE)
    for code, words in CHINESE.items():
        assert any("一" <= character <= "鿿" for character in words), code
        assert not any(mark in words for mark in ";!?"), code


def test_the_pages_own_codes_are_no_codes_of_the_service(codes: Codes):
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "web/src").rglob("*.ts*")]
    apart = "\n".join(sources)
    made = set(re.findall(r'ApiError\(\s*\{ code: "(\w+)"', apart))
    texts = {
        key for text in sources for key in re.findall(r'^  "error\.(\w+)": \[', text, re.MULTILINE)
    }
    assert {"unreachable", "unanswered"} <= made & texts
    assert (made | texts) & set(codes.texts) == set()


def test_every_way_to_give_a_code_is_followed_to_its_text(codes: Codes):
    assert {":".join(place.split(":")[:2]) for place in codes.unknown} == FREE


def test_codes_of_each_kind_are_found(codes: Codes):
    assert codes.texts.keys() >= {
        "file_not_found",  # a keyword
        "permission_denied",  # a table of the operating system's errors
        "unattended",  # by place
        "unsupported_media_type",  # a table of HTTP's statuses
        "unknown_type",  # a class
        "calls_per_run",  # a choice
        "code_disk",  # a part of what a function returns
        "too_deep",  # a parameter
        "masked_column",  # a literal type
        "window_not_found",  # what an operator may say
        "disabled",  # a status that stands for a code
        "dependency_failed",  # an error that is written as JSON
    }


@pytest.mark.parametrize(
    "source",
    [
        'raise ToolFailed("no", code="new_thing")',
        'class New(ToolFailed):\n    code = "new_thing"',
        'NEW = "new_thing"\nToolResult.fail("no", code=NEW)',
        'class R:\n    status: str\n    code: str\nR("denied", "new_thing")',
        'def no(code): return ToolFailed("no", code=code)\nno("new_thing")',
        'def no(why): return ToolFailed("no", code=why)\nno(why="new_thing")',
        'T = {1: ("new_thing", "no")}\ndef f(n):\n    code, said = T[n]\n    F(code=code)',
        'def g():\n    return "no", "new_thing"\ndef f():\n    said, code = g()\n    F(code=code)',
        'F(code="new_thing" if x else None)',
        'Why = Literal["new_thing"]\nclass F:\n    code: Why',
        'error = {"code": "new_thing", "message": "no"}',
    ],
)
def test_a_new_code_is_seen_however_it_is_given(source: str):
    found = _of(one=source)
    assert set(found.texts) == {"new_thing"}
    assert found.unknown == []


def test_a_constant_of_another_module_is_followed():
    found = _of(one='NEW = "new_thing"', two="from app.one import NEW\nF(code=NEW)")
    assert found == Codes({"new_thing": {"F"}}, [])


@pytest.mark.parametrize("given", ["f'code_{why}'", "why()", "thing.reason"])
def test_a_code_that_cannot_be_followed_is_named(given: str):
    assert _of(one=f"F(code={given})").unknown == [f"F: one.py:1: {given}"]
