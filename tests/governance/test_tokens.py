"""Bearer tokens: shown once, kept as a digest, ended at once."""

from __future__ import annotations

from typing import Any

import pytest

from app.core.clock import ManualClock
from app.core.errors import InvalidInput, NotFound, Unauthenticated
from app.core.settings import Settings
from app.governance.tokens import SCOPES, Tokens, equal_secrets
from tests.execution.lab import Lab, bare_lab


def tokens(lab: Lab) -> Tokens:
    return Tokens(lab.gate.ledger, lab.gate.clock)


async def test_a_token_opens_what_its_scopes_say_and_is_stored_as_a_digest(lab: Lab):
    store = tokens(lab)
    assert await store.any_issued() is False
    secret, token = await store.create("ci", ("chat",))
    assert (await store.check(secret)).scopes == ("chat",)
    assert await store.any_issued() is True
    assert secret not in str(await lab.rows("SELECT * FROM tokens"))
    assert secret.startswith(token.prefix)


@pytest.mark.parametrize("secret", ["", "tg_", "tg_wrong", "\ud800"], ids=ascii)
async def test_anything_else_is_refused(lab: Lab, secret: str):
    store = tokens(lab)
    await store.create("ci")
    with pytest.raises(Unauthenticated):
        await store.check(secret)


async def test_a_revoked_token_ends_at_once_also_for_another_reader(settings: Settings):
    clock = ManualClock()
    async with bare_lab(settings, clock=clock) as lab:
        here, there = tokens(lab), tokens(lab)
        secret, token = await here.create("ci")
        assert (await there.check(secret)).id == token.id
        await here.revoke("ci")
        with pytest.raises(Unauthenticated):
            await here.check(secret)
        clock.advance(2)
        with pytest.raises(Unauthenticated):
            await there.check(secret)
        with pytest.raises(NotFound):
            await here.revoke("ci")


async def test_a_token_ends_after_its_days_and_its_use_is_noted(settings: Settings):
    clock = ManualClock()
    async with bare_lab(settings, clock=clock) as lab:
        store = tokens(lab)
        secret, _ = await store.create("ci", days=1)
        await store.check(secret)
        (listed,) = await store.list_all()
        assert listed.last_used_at is not None
        clock.advance(24 * 3600 + 1)
        with pytest.raises(Unauthenticated):
            await store.check(secret)


WRONG: list[dict[str, Any]] = [
    {"scopes": ("root",)},
    {"scopes": ()},
    {"name": "  "},
    {"name": "x" * 65},
    {"days": 0},
    {"days": 4000},
]


@pytest.mark.parametrize("wrong", WRONG, ids=str)
async def test_a_token_that_makes_no_sense_is_not_made(lab: Lab, wrong: dict[str, Any]):
    wanted: dict[str, Any] = {"name": "ci", "scopes": SCOPES, **wrong}
    with pytest.raises(InvalidInput) as caught:
        await tokens(lab).create(wanted.pop("name"), wanted.pop("scopes"), **wanted)
    assert caught.value.details["field"] in wrong
    assert await lab.rows("SELECT * FROM tokens") == []


def test_secrets_are_compared_as_bytes():
    assert equal_secrets("grün", "grün") is True
    assert equal_secrets("a", "b") is False


@pytest.mark.parametrize("name", ["admin", "Local", " local "])
async def test_a_token_cannot_take_the_name_of_a_built_in_user(lab: Lab, name: str):
    with pytest.raises(InvalidInput, match="built-in user"):
        await tokens(lab).create(name, ("chat",))
