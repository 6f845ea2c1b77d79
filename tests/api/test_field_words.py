"""Every code of an invalid field has its words in Chinese, and no other code has."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from app.catalog.json_schema import compile_schema
from app.core.errors import InvalidArguments
from app.core.field_problems import VALUES
from tests.support.field_codes import (
    KEYWORDS,
    PASSED_ON,
    misfits,
    own_codes,
    plain_refusals,
    pydantic_types,
)
from tests.support.translations import check_translated

ROOT = Path(__file__).resolve().parents[2]
CHINESE: dict[str, dict[str, str]] = json.loads(
    (ROOT / "web/src/i18n/fields.zh.json").read_text(encoding="utf-8")
)
_THREE = {"type": "array", "items": {"type": "integer"}}
# What each keyword without a code of ours refuses: its schema, and a value.
_REFUSED: dict[str, tuple[dict[str, Any], Any]] = {
    "contains": ({**_THREE, "contains": {"const": 1}}, [2]),
    "minContains": ({**_THREE, "contains": {"const": 1}, "minContains": 2}, [1]),
    "maxContains": ({**_THREE, "contains": {"const": 1}, "maxContains": 1}, [1, 1]),
    "dependentRequired": ({"dependentRequired": {"b": ["c"]}}, {"b": 1}),
    "not": ({"not": {"const": 1}}, 1),
    "items": ({"prefixItems": [{}], "items": False}, [1, 2]),
    "unevaluatedItems": ({"prefixItems": [{}], "unevaluatedItems": False}, [1, 2]),
    "unevaluatedProperties": ({"unevaluatedProperties": False}, {"b": 1}),
    "false_schema": ({"properties": {"b": False}}, {"b": 1}),
}


def test_what_has_words_is_a_code_and_at_a_release_every_one_has_some():
    own, _ = own_codes(ROOT)
    reported, led = CHINESE["told"], CHINESE["led"]
    assert list(reported) == sorted(reported)
    assert list(led) == sorted(led)
    assert reported.keys() & led.keys() == set()
    check_translated(own | pydantic_types(), reported.keys() | led.keys())
    for code, words in {**reported, **led}.items():
        assert any("一" <= character <= "鿿" for character in words), code
        assert not any(mark in words for mark in ";!?。"), code


def test_words_name_only_values_that_are_reported():
    named = {name for words in CHINESE["told"].values() for name in re.findall(r"{(\w+)}", words)}
    assert named <= VALUES
    assert not [words for words in CHINESE["led"].values() if "{" in words]


def test_a_refusal_of_a_validator_gives_the_values_that_its_words_name():
    reported, led = CHINESE["told"], CHINESE["led"]
    for code, given in misfits(ROOT):
        if code in reported or code in led:
            assert given == set(re.findall(r"{(\w+)}", reported.get(code, ""))), code


def test_every_own_code_stands_in_the_sources_as_text():
    _, unclear = own_codes(ROOT)
    assert unclear == PASSED_ON


def test_every_refusal_of_a_validator_has_a_code():
    assert list(plain_refusals(ROOT)) == []


def test_the_keywords_with_codes_of_their_own_are_all_there():
    assert _REFUSED.keys() - {"false_schema"} == KEYWORDS


@pytest.mark.parametrize("keyword", _REFUSED)
def test_a_keyword_of_a_schema_gives_its_code(keyword: str):
    schema, value = _REFUSED[keyword]
    _, validate = compile_schema({"properties": {"a": schema}})
    with pytest.raises(InvalidArguments) as caught:
        validate(json.dumps({"a": value}).encode())
    assert [item["code"] for item in caught.value.details["errors"]] == [keyword]
