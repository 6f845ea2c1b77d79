"""Guessing is stopped by address and by account, for longer each time, and nobody for ever."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.api.login_throttle import (
    ACCOUNT_FACTOR,
    ADDRESS_STOP_S,
    LONGEST_ACCOUNT_STOP_S,
    LoginThrottle,
    account_of,
)
from app.core.clock import ManualClock
from app.core.errors import RateLimited
from tests.support.http import HttpClient
from tests.support.service import Running, serving, settings_for

OWNER = "correct horse battery staple"
PER_MINUTE = 3
LONGEST_S = 900.0


class Door:
    """A throttle, and who tries it."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.stops: list[tuple[str, float]] = []
        self.throttle = LoginThrottle(
            self.clock,
            PER_MINUTE,
            LONGEST_S,
            lambda key, seconds: self.stops.append((key, seconds)),
        )

    def guess(self, source: str, token: str = "wrong") -> bool:
        """Whether it was looked at."""
        try:
            self.throttle.check(token, source)
        except RateLimited:
            return False
        self.throttle.failed(token, source)
        return True

    def is_open(self, source: str, token: str = OWNER) -> bool:
        try:
            self.throttle.check(token, source)
        except RateLimited:
            return False
        return True


@pytest.fixture
def door() -> Door:
    return Door()


def test_each_stop_of_an_address_is_twice_as_long_up_to_the_longest(door: Door):
    lengths: list[float] = []
    while len(lengths) < 10:
        while door.guess("192.0.2.1"):
            pass
        lengths.append(door.stops[-1][1])
        door.clock.advance(lengths[-1])
    assert lengths[:4] == [ADDRESS_STOP_S * 2**n for n in range(4)]
    assert lengths[-1] == LONGEST_S
    assert {key for key, _ in door.stops} == {"192.0.2.1"}


def test_what_is_refused_makes_the_stop_no_longer_and_it_ends(door: Door):
    for _ in range(PER_MINUTE):
        assert door.guess("192.0.2.1")
    for _ in range(1000):
        assert not door.guess("192.0.2.1")
    door.clock.advance(ADDRESS_STOP_S)
    assert door.is_open("192.0.2.1")


def test_another_address_is_not_stopped(door: Door):
    for _ in range(PER_MINUTE):
        door.guess("192.0.2.1")
    assert door.is_open("192.0.2.2")


def test_a_network_of_version_6_is_one_address(door: Door):
    for number in range(PER_MINUTE):
        door.guess(f"2001:db8::{number}")
    assert not door.is_open("2001:db8::ffff")
    assert door.is_open("2001:db8:0:1::1")


def test_an_account_that_is_tried_from_everywhere_is_stopped_for_a_minute_at_most(door: Door):
    number = 0
    for _ in range(12):
        while door.guess(f"192.0.2.{number % 250}", f"wrong {number}"):
            number += 1
        door.clock.advance(LONGEST_ACCOUNT_STOP_S)
    by_account = [seconds for key, seconds in door.stops if key == account_of("wrong")]
    assert by_account
    assert max(by_account) <= LONGEST_ACCOUNT_STOP_S
    assert number >= PER_MINUTE * ACCOUNT_FACTOR


def test_who_has_come_in_from_an_address_still_does_whatever_others_try(door: Door):
    door.throttle.succeeded(OWNER, "198.51.100.1")
    for number in range(PER_MINUTE * ACCOUNT_FACTOR * 2):
        door.guess(f"192.0.2.{number}")
    for _ in range(PER_MINUTE * 2):
        door.guess("198.51.100.1")
    assert door.is_open("198.51.100.1")
    assert not door.is_open("198.51.100.1", "another")
    assert not door.is_open("203.0.113.1")


def test_a_quiet_address_begins_again_with_the_shortest_stop(door: Door):
    for _ in range(3):
        while door.guess("192.0.2.1"):
            pass
        door.clock.advance(door.stops[-1][1])
    door.clock.advance(LONGEST_S)
    while door.guess("192.0.2.1"):
        pass
    assert door.stops[-1][1] == ADDRESS_STOP_S


def test_an_account_that_is_not_there_is_stopped_like_one_that_is(door: Door):
    assert account_of("tg_abcdefgh") == account_of("tg_abcdeXYZ") == "tg_abcde"
    for token in ("tg_abcdefgh", "guess"):
        fresh = Door()
        for number in range(PER_MINUTE * ACCOUNT_FACTOR):
            assert fresh.guess(f"192.0.2.{number}", token)
        assert not fresh.guess("203.0.113.1", token)


async def _statuses(running: Running, token: str, times: int, **send: str) -> list[int]:
    headers = {"Authorization": f"Bearer {token}"} | send
    async with HttpClient(base_url=running.api, headers=headers) as client:
        return [(await client.get("/me")).status_code for _ in range(times)]


async def test_guesses_at_the_token_of_the_settings_are_stopped_at_every_door(tmp_path: Path):
    settings = settings_for(tmp_path, allow_anonymous=False, token=OWNER, login_attempts=PER_MINUTE)
    async with serving(settings) as running:
        issued, _ = await running.service.tokens.create("ann", {"chat"})
        assert await _statuses(running, "guess", 5) == [401] * 3 + [429] * 2
        # A token of ours cannot be guessed, so nobody who has one is kept out.
        assert await _statuses(running, issued, 1) == [200]
        assert await _statuses(running, "tg_unknown", 6) == [401] * 6
        async with HttpClient(base_url=running.api) as client:
            assert (await client.post("/login", json={"token": OWNER})).status_code == 429
        async with running.socket() as socket:
            await socket.send('{"v":1,"type":"hello","id":"h","auth":{"token":"guess"}}')
            assert "rate_limited" in str(await socket.recv())
