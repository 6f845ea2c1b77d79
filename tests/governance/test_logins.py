"""Browsers that are signed in: only a digest is kept, and they end with their token."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from app.config.settings import Settings
from app.core.clock import ManualClock
from app.governance.identity.logins import Logins, csrf_matches, csrf_token
from app.governance.identity.tokens import Token, Tokens
from tests.execution.lab import Lab, bare_lab

HOUR = 3600


@dataclass
class Desk:
    """A clock, tokens and logins on one database."""

    lab: Lab
    clock: ManualClock
    tokens: Tokens
    logins: Logins
    token: Token

    def again(self, **options: Any) -> Logins:
        """The logins as another process, or the same one after a restart, sees them."""
        runtime = self.lab.runtime
        wanted = {"lifetime_s": 24 * HOUR, "idle_s": 2 * HOUR, **options}
        return Logins(runtime.db, self.clock, runtime.audit, self.tokens, **wanted)

    async def begin(self) -> str:
        secret, _ = await self.logins.begin("ann", self.token.id, source="127.0.0.1")
        return secret


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[Desk]:
    clock = ManualClock()
    async with bare_lab(settings, clock=clock) as lab:
        tokens = Tokens(lab.runtime.db, clock, lab.runtime.audit)
        _, token = await tokens.create("ann", ("chat",))
        desk = Desk(lab, clock, tokens, None, token)  # type: ignore[arg-type] # set below
        desk.logins = desk.again()
        yield desk


@pytest.fixture
async def desk(settings: Settings) -> AsyncIterator[Desk]:
    async with opened(settings) as desk:
        yield desk


async def test_a_login_is_found_by_its_secret_and_stored_as_a_digest(desk: Desk):
    secret = await desk.begin()
    login = await desk.logins.find(secret)
    assert login is not None
    assert (login.user_id, login.token_id) == ("ann", desk.token.id)
    assert secret not in str(await desk.lab.rows("SELECT * FROM logins"))
    assert await desk.logins.find(secret + "x") is None
    assert (await desk.again().find(secret)) == login


async def test_a_login_ends_with_its_token_at_once(desk: Desk):
    secret = await desk.begin()
    login = await desk.logins.find(secret)
    await desk.tokens.revoke(desk.token.id)
    assert await desk.logins.find(secret) is None
    assert login is not None
    assert await desk.logins.standing(login.id) == "revoked"


async def test_a_login_ends_after_its_lifetime_however_much_it_is_used(desk: Desk):
    secret = await desk.begin()
    for _ in range(23):
        desk.clock.advance(HOUR)
        assert await desk.logins.find(secret) is not None
    desk.clock.advance(HOUR)
    assert await desk.logins.find(secret) is None


async def test_a_login_that_nobody_uses_ends_earlier_also_after_a_restart(desk: Desk):
    secret = await desk.begin()
    desk.clock.advance(1.5 * HOUR)
    assert await desk.logins.find(secret) is not None
    desk.clock.advance(1.5 * HOUR)
    login = await desk.again().find(secret)
    assert login is not None
    desk.clock.advance(2 * HOUR)
    assert await desk.again().find(secret) is None
    assert await desk.logins.standing(login.id) == "expired"


async def test_a_connection_in_use_keeps_its_login(desk: Desk):
    secret = await desk.begin()
    login = await desk.logins.find(secret)
    assert login is not None
    desk.clock.advance(1.5 * HOUR)
    await desk.logins.used(login.id)
    desk.clock.advance(1.5 * HOUR)
    assert await desk.logins.standing(login.id) == "holds"


async def test_signing_out_ends_a_login_for_every_reader_and_is_audited_once(desk: Desk):
    secret = await desk.begin()
    other = desk.again()
    login = await other.find(secret)
    assert login is not None
    await desk.logins.end(login.id)
    await desk.logins.end(login.id)
    assert await desk.logins.find(secret) is None
    desk.clock.advance(2)
    assert await other.standing(login.id) == "revoked"
    kinds = await desk.lab.rows(
        "SELECT kind, actor FROM audit WHERE kind LIKE 'auth.%' ORDER BY seq"
    )
    assert kinds == [("auth.login", "ann"), ("auth.logout", "ann")]


async def test_a_login_with_the_token_of_the_settings_ends_when_it_is_changed(desk: Desk):
    with_old, with_new = desk.again(own_token="old-token"), desk.again(own_token="new-token")
    secret, _ = await with_old.begin("admin", None, source="127.0.0.1")
    assert await with_old.find(secret) is not None
    assert await with_new.find(secret) is None
    assert await desk.again().find(secret) is None


async def test_what_has_ended_is_cleared_away(desk: Desk):
    await desk.begin()
    desk.clock.advance(48 * HOUR)
    await desk.begin()
    assert len(await desk.lab.rows("SELECT id FROM logins")) == 1


def test_a_csrf_token_belongs_to_one_login():
    assert csrf_matches("secret", csrf_token("secret")) is True
    assert csrf_matches("secret", csrf_token("other")) is False
    assert csrf_matches("secret", None) is False
    assert csrf_matches("secret", "grün") is False
    assert "secret" not in csrf_token("secret")
