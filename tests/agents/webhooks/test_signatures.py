"""Which signatures count."""

from __future__ import annotations

import hmac
from hashlib import sha256

import pytest

from app.agents.webhooks.signatures import WINDOW_S, Signature, read_signature

NOW = 1_800_000_000
KEY = b"whsec_key"
MAC = "0" * 64


def made(moment: int, body: bytes, key: bytes = KEY) -> Signature:
    mac = hmac.new(key, f"{moment}.".encode() + body, sha256).hexdigest()
    found = read_signature([f"t={moment},v1={mac}"])
    assert found is not None
    return found


def test_what_was_signed_with_the_secret_fits():
    assert made(NOW, b"body").fits(KEY, b"body")
    assert made(NOW, b"").fits(KEY, b"")


@pytest.mark.parametrize(
    ("key", "body", "moment"),
    [
        (b"other", b"body", NOW),
        (b"", b"body", NOW),
        (KEY, b"Body", NOW),
        (KEY, b"", NOW),
        (KEY, b"body ", NOW),
        (KEY, b".body", NOW),
        (KEY, b"body", NOW + 1),
    ],
)
def test_anything_else_does_not(key: bytes, body: bytes, moment: int):
    signature = Signature(str(moment), made(NOW, b"body").mac)
    assert not signature.fits(key, body)


def test_the_moment_and_the_body_cannot_be_shifted_into_each_other():
    shifted = Signature("1", made(10, b"0.x").mac)
    assert not shifted.fits(KEY, b"0.0.x")


@pytest.mark.parametrize(
    "header",
    [
        *("", "t=,v1=", f"t=1,v1={MAC[1:]}", f"t=1,v1={MAC}0", f"t=1;v1={MAC}", f"v1={MAC}"),
        *(f"v1={MAC},t=1", f"t=1,v1={MAC},v1={MAC}", f"t=1, v1={MAC}", f" t=1,v1={MAC}"),
        *(f"t=-1,v1={MAC}", f"t=1.0,v1={MAC}", f"t=1e9,v1={MAC}", f"t=١,v1={MAC}"),
        *(f"t=1,v1={'G' * 64}", f"t=1,v1={'A' * 64}", f"t=1,v0={MAC}", f"t=1,v1={MAC}\n"),
        f"t={'9' * 13},v1={MAC}",
    ],
)
def test_a_header_that_could_be_read_in_two_ways_is_none(header: str):
    assert read_signature([header]) is None


def test_there_must_be_exactly_one():
    good = f"t=1,v1={MAC}"
    assert read_signature([good]) == Signature("1", MAC)
    assert read_signature([]) is None
    assert read_signature([good, good]) is None


def test_it_counts_for_five_minutes_around_its_moment():
    ages = (0, WINDOW_S, WINDOW_S + 1, -WINDOW_S, -WINDOW_S - 1)
    timely = [age for age in ages if Signature(str(NOW - age), MAC).is_timely(float(NOW))]
    assert timely == [0, WINDOW_S, -WINDOW_S]


def test_a_delivery_has_a_name_of_its_own_for_each_webhook():
    signature = made(NOW, b"body")
    names = {signature.digest("a"), signature.digest("b"), made(NOW + 1, b"body").digest("a")}
    assert len(names) == 3
    assert signature.digest("a") in names
