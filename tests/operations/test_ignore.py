from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.operations.ignore import IgnoreRules, parse_ignore

RULES = st.sampled_from(["a", "a/", "/a", "*.b", "!x.b", "a/*", "**/b", "c?", "[ab].b", "a/**/b"])
NAMES = st.lists(st.sampled_from(["a", "b", "x.b", "c1", "名.b", "a/", "b/"]), max_size=4)


@given(st.lists(RULES, min_size=1, max_size=4), NAMES, st.sampled_from(["", "a/", "d/a/"]))
def test_the_quick_answer_for_a_folder_never_hides_a_rule(
    rules: list[str], names: list[str], prefix: str
):
    spec = parse_ignore("\n".join(rules).encode())
    assert spec is not None
    chain = IgnoreRules(spec, 0)

    ignored = [
        chain.ignores(prefix + name.rstrip("/"), is_dir=name.endswith("/")) for name in names
    ]

    assert chain.may_ignore(prefix, names) or not any(ignored)


@pytest.mark.parametrize(
    "bad", ["[z-a]", "[[:alpha:]]", "a\\", "\\", "!", "x" * 600, "*?" * 200, "\0"]
)
def test_a_rule_nobody_can_read_does_not_take_the_others_along(bad: str):
    spec = parse_ignore(f"*.log\n{bad}\nbuild/\n".encode())

    assert spec is not None
    assert spec.verdict("a.log") is True
    assert spec.verdict("build/") is True
    assert spec.verdict("main.py") is None


@pytest.mark.parametrize("data", [b"", b"# only a comment\n\n", b"[z-a]"])
def test_without_a_rule_there_is_none(data: bytes):
    assert parse_ignore(data) is None


def test_more_rules_than_can_be_held_end_in_an_answer():
    spec = parse_ignore(b"\n".join(b"*a%d*/**/b*c?d[xyz]*" % number for number in range(3000)))

    assert spec is None or spec.verdict("main.py") is None


@given(st.binary(max_size=200))
def test_any_bytes_are_read_without_an_error(data: bytes):
    spec = parse_ignore(data)

    assert spec is None or spec.verdict("src/main.py") in (True, False, None)
