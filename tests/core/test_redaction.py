"""Masking: telling keys, known values, and nothing else.

The end of a text that may be the beginning of a value.
"""

from __future__ import annotations

import json
from base64 import b64encode, urlsafe_b64encode
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.redaction import MASK, PrefixIndex, Redactor
from app.core.text import dump_json

SECRET = 'tg_"quoted"\\secret'


@pytest.mark.parametrize(
    "key",
    [
        "password",
        "PASSWORD",
        "db_password",
        "db.password",
        "api_key",
        "apiKey",
        "X-Api-Key",
        "authorization",
        "cookie",
        "Set-Cookie",
        "clientSecret",
        "accessToken",
        "refresh_token",
        "credentials",
        "private_key",
        "secrets",
        "passphrase",
        "aws-secret",
    ],
)
def test_a_telling_key_hides_whatever_it_holds(key: str):
    for value in ("x", 12345, ["x"], {"v": "x"}):
        arguments = {"a": [{key: value}]}
        shown, paths = Redactor().arguments(arguments)
        assert shown == {"a": [{key: MASK}]}
        assert paths == [f"a[0].{key}"]
        assert Redactor().is_clean(dump_json(arguments)) is False


@pytest.mark.parametrize(
    "arguments",
    [
        {"max_tokens": 5, "tokens": 7, "tokenizer": "x", "secretary": "Ann", "keyboard": "x"},
        {"password": "", "token": None, "use_cookie": True},
        {"path": "secret/token.txt", "command": "cat password"},
    ],
    ids=str,
)
def test_what_only_looks_alike_is_shown(arguments: dict[str, Any]):
    assert Redactor().arguments(arguments) == (arguments, [])


def test_a_known_value_is_masked_wherever_it_stands():
    redactor = Redactor([SECRET, "short"])
    arguments = {"a": f"x{SECRET}y", SECRET: [SECRET], "n": 1, "short": "short"}
    shown, paths = redactor.arguments(arguments)
    assert shown == {"a": f"x{MASK}y", MASK: [MASK], "n": 1, "short": "short"}
    assert paths == ["a", f"{MASK}[0]"]
    assert redactor.secrets_in((SECRET, {SECRET: {"token": "kept"}})) == [
        MASK,
        {MASK: {"token": "kept"}},
    ]
    assert redactor.is_clean(dump_json(arguments)) is False
    assert redactor.is_clean(dump_json({"a": "b"})) is True


@given(before=st.binary(max_size=5), after=st.binary(max_size=5))
def test_a_known_value_is_masked_in_base64_and_hex_wherever_it_stood(before: bytes, after: bytes):
    secret = "correct horse battery"
    redactor = Redactor([secret])
    reported = before + secret.encode() + after
    encoded = (
        b64encode(reported),
        urlsafe_b64encode(reported),
        reported.hex().encode(),
        reported.hex().upper().encode(),
    )

    for text in (item.decode() for item in encoded):
        assert MASK in redactor.text(f"it is {text}.")
        assert redactor.is_clean(dump_json({"out": text})) is False
        assert MASK in redactor.arguments({"out": [text]})[0]["out"][0]


def test_what_is_learned_later_is_masked_until_its_owner_has_another():
    redactor = Redactor(["first-secret-1"])
    redactor.learn("source", ["second-secret-2"])
    redactor.learn("other", ["third-secret-3"])
    reported = "first-secret-1 second-secret-2 third-secret-3"
    assert redactor.text(reported) == f"{MASK} {MASK} {MASK}"
    assert not redactor.is_clean(dump_json({"a": "second-secret-2"}))
    redactor.learn("source", ["fourth-secret-4"])
    assert redactor.text(reported) == f"{MASK} second-secret-2 {MASK}"
    assert redactor.text("fourth-secret-4") == MASK


def test_of_two_secrets_of_which_one_holds_the_other_nothing_remains():
    assert Redactor(["abcdef", "abcdefgh"]).text("-abcdefgh-") == f"-{MASK}-"


@pytest.mark.parametrize(
    "text",
    ['{"password": "hunter2x', '{"a": 1, "apiKey":hunter2x, "b"', '{"token": "a\\"hunter2x"'],
)
def test_json_that_does_not_parse_is_masked_as_far_as_it_can_be_read(text: str):
    assert "hunter2x" not in Redactor().raw_json(text)
    assert Redactor().raw_json('{"path": "a.txt"') == '{"path": "a.txt"'


def test_what_is_nested_too_deeply_to_be_looked_at_is_not_shown():
    deep: Any = {"password": "hunter2x"}
    for _ in range(200):
        deep = [{"x": deep}]
    assert "hunter2x" not in str(Redactor().arguments({"a": deep})[0])
    assert "hunter2x" not in str(Redactor(["hunter2x"]).secrets_in(deep))


@given(st.text("abt", max_size=12), st.integers(0, 12))
def test_output_in_two_pieces_hides_what_it_hides_in_one(text: str, cut: int):
    redactor = Redactor(["abab-ab"])
    text = text.replace("t", "abab-ab")
    first = redactor.text(text[:cut])
    held = redactor.partial(first)
    shown = first[: len(first) - held]
    rest = redactor.text(first[len(first) - held :] + text[cut:])
    assert "abab-ab" not in shown + rest


json_values = st.recursive(
    st.text(max_size=5) | st.integers(-9, 9),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "token", "dbPassword", "x_token_y"]), inner)
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=3), json_values, max_size=3))
def test_what_is_called_clean_has_nothing_to_mask(arguments: dict[str, Any]):
    redactor = Redactor(["secret-value"])
    encoded = dump_json(arguments)
    if redactor.is_clean(encoded):
        assert redactor.arguments(arguments) == (arguments, [])
    json.loads(encoded)


def test_what_was_encoded_beside_a_known_value_is_masked_with_it():
    redactor = Redactor(["known-secret-value1"])
    beside = b"unknown-Xy12Zt9"
    for reported in (b"known-secret-value1" + beside, beside + b"known-secret-value1"):
        assert redactor.text(f"it is {b64encode(reported).decode()}.") == f"it is {MASK}."
        assert redactor.text(f"it is {reported.hex()}.") == f"it is {MASK}."


def test_of_two_values_encoded_of_which_one_begins_the_other_nothing_remains():
    first, second = "prefix-secret-aaaa", "prefix-secret-aaaa-suffix-77"
    text = b64encode(second.encode()).decode()
    assert Redactor([first, second]).text(text) == MASK


_ODD = st.text(st.sampled_from('ab"\\\n\0.|(密\udc80é'), min_size=6, max_size=9)


@given(st.lists(_ODD, max_size=4), _ODD, _ODD, st.data())
def test_whatever_a_value_is_made_of_it_is_found(
    values: list[str], before: str, after: str, data: st.DataObject
):
    redactor = Redactor(values)
    value = data.draw(st.sampled_from(values)) if values else ""
    text = f"{before}{value}{after}"
    shown = redactor.known(text)
    assert [value for value in values if value in shown] == []
    if not any(value in text for value in values):
        assert shown == text
    if value:
        assert not redactor.is_text_clean(dump_json([text]))


def test_a_secret_among_arguments_is_found_wherever_it_is_put():
    known = "our-own-service-token-4711"
    redactor = Redactor([known])
    deep: Any = "x"
    for _ in range(80):
        deep = [deep]

    assert redactor.secret_in({"url": "https://x.example", "n": 3, "tags": ["a"]}) is None
    assert redactor.secret_in({"headers": {"X-Data": f"a {known}"}}) == "headers.X-Data"
    assert redactor.secret_in({"rows": [{"k": "v"}, {"k": known}]}) == "rows[1].k"
    assert redactor.secret_in({"headers": {known: "1"}}) == "a name in headers"
    # What is too deep to be looked at counts as found.
    assert redactor.secret_in({"deep": deep, "token": "key="}) is not None


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("", 0),
        ("nothing", 0),
        ("key s", 1),
        ("key se", 2),
        ("key secr", 4),
        ("key secret-1", 0),  # whole: nothing more can come of it
        ("key secret-", 7),
        ("sesecret", 6),
        ("a secret in the middle", 0),
    ],
)
def test_the_longest_beginning_at_the_end_is_reported(text, held):
    assert PrefixIndex(["secret-1", "serious"]).at_end(text) == held


def test_without_values_nothing_is_held():
    assert PrefixIndex([]).at_end("text") == 0


@given(
    st.lists(st.text("ab", min_size=1, max_size=8), max_size=5),
    st.text("ab", max_size=12),
)
def test_it_is_what_a_trial_of_every_length_finds(values, text):
    lengths = [
        length
        for value in values
        for length in range(1, len(value))
        if text.endswith(value[:length])
    ]
    assert PrefixIndex(values).at_end(text) == max(lengths, default=0)
