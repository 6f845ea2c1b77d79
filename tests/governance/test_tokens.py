"""Bearer tokens: shown once, kept as a digest, ended at once."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from app.config.settings import Settings
from app.core.clock import ManualClock
from app.core.errors import InvalidInput, NotFound, Unauthenticated
from app.governance.identity.tokens import SCOPES, Tokens, equal_secrets
from app.governance.limits import Limits
from tests.execution.lab import Lab, bare_lab


def tokens(lab: Lab) -> Tokens:
    return Tokens(lab.runtime.db, lab.runtime.clock, lab.runtime.audit)


async def audited(lab: Lab) -> list[tuple[str, str, str]]:
    """Kind, actor and subject of what the audit holds about tokens."""
    rows = await lab.rows(
        "SELECT kind, actor, subject FROM audit WHERE kind LIKE 'token.%' ORDER BY seq"
    )
    return [(kind, actor, subject) for kind, actor, subject in rows]


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
    {"name": "two\nlines"},
    {"agents": ()},
    {"agents": ("no id",)},
    {"projects": ["x"] * 2 + [""]},
    {"projects": [f"p{number}" for number in range(201)]},
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


@pytest.mark.parametrize("name", ["admin", "Local", " local ", "bootstrap"])
async def test_a_token_cannot_take_the_name_of_a_built_in_user(lab: Lab, name: str):
    with pytest.raises(InvalidInput, match="built-in user"):
        await tokens(lab).create(name, ("chat",))


async def test_a_token_keeps_what_it_is_limited_to(lab: Lab):
    store = tokens(lab)
    limits = Limits(calls_per_minute=5)
    secret, made = await store.create(
        "ci", ("chat",), agents=("a", "a"), projects=["p"], limits=limits, by="ann"
    )
    found = await store.check(secret)
    assert (found.agents, found.projects, found.limits) == (("a",), ("p",), limits)
    assert found.created_by == "ann"
    assert await audited(lab) == [("token.created", "ann", made.id)]


@pytest.mark.parametrize("field", ["agents", "projects"])
async def test_an_administrator_cannot_be_limited(lab: Lab, field: str):
    limited: dict[str, Any] = {field: ["x"]}
    with pytest.raises(InvalidInput, match="could remove the limit") as caught:
        await tokens(lab).create("ci", ("chat", "admin"), **limited)
    assert caught.value.details["field"] == field


async def test_a_rotated_token_keeps_its_rights_and_the_old_secret_ends_at_once(lab: Lab):
    store = tokens(lab)
    old_secret, old = await store.create("ci", ("chat",), projects=["p"], days=3)
    secret, new = await store.rotate(old.id, by="ann")
    assert (new.name, new.scopes, new.projects) == ("ci", ("chat",), ("p",))
    assert (await store.check(secret)).id == new.id
    with pytest.raises(Unauthenticated):
        await store.check(old_secret)
    with pytest.raises(NotFound):
        await store.rotate(old.id)
    assert (await audited(lab))[-1] == ("token.rotated", "ann", new.id)


async def test_a_rotated_token_may_go_on_for_a_grace_and_lives_as_long_as_the_old_one(
    settings: Settings,
):
    clock = ManualClock()
    async with bare_lab(settings, clock=clock) as lab:
        store = tokens(lab)
        old_secret, old = await store.create("ci", days=1)
        clock.advance(23 * 3600)
        secret, _ = await store.rotate(old.id, grace_s=60)
        assert (await store.check(old_secret)).id == old.id
        clock.advance(61)
        with pytest.raises(Unauthenticated):
            await store.check(old_secret)
        clock.advance(23 * 3600)
        assert (await store.check(secret)).name == "ci"
        clock.advance(3600)
        with pytest.raises(Unauthenticated):
            await store.check(secret)


async def test_a_grace_does_not_lengthen_a_life(settings: Settings):
    clock = ManualClock()
    async with bare_lab(settings, clock=clock) as lab:
        store = tokens(lab)
        secret, old = await store.create("ci", days=1)
        await store.rotate(old.id, grace_s=7 * 24 * 3600)
        clock.advance(24 * 3600 + 1)
        with pytest.raises(Unauthenticated):
            await store.check(secret)
        with pytest.raises(InvalidInput):
            await store.rotate(old.id, grace_s=7 * 24 * 3600 + 1)


async def test_a_name_ends_all_its_tokens_and_an_id_ends_one(lab: Lab):
    store = tokens(lab)
    made = [await store.create("ci", ("chat",)) for _ in range(3)]
    ended = await store.revoke(made[0][1].id, by="ann")
    assert [token.id for token in ended] == [made[0][1].id]
    assert await store.standing(made[0][1].id) == "revoked"
    assert await store.standing(made[1][1].id) == "holds"
    assert len(await store.revoke("ci", by="ann")) == 2
    assert [kind for kind, _, _ in await audited(lab)].count("token.revoked") == 3


async def test_the_first_token_of_a_house_is_made_once(lab: Lab):
    store = tokens(lab)
    first, second = await asyncio.gather(store.bootstrap(), tokens(lab).bootstrap())
    secret = first or second
    assert secret is not None
    assert None in (first, second)
    assert await store.bootstrap() is None
    assert ((await store.check(secret)).name, (await store.check(secret)).scopes) == (
        "bootstrap",
        SCOPES,
    )
    (row,) = await lab.rows("SELECT sha256 FROM tokens")
    assert secret not in str(row)


async def test_a_house_whose_tokens_have_all_expired_gets_no_first_token(settings: Settings):
    clock = ManualClock()
    async with bare_lab(settings, clock=clock) as lab:
        store = tokens(lab)
        await store.create("ci", days=1)
        clock.advance(48 * 3600)
        assert await store.bootstrap() is None


async def test_a_change_that_fails_leaves_no_line_in_the_audit(lab: Lab):
    store = tokens(lab)
    with pytest.raises(NotFound):
        await store.revoke("nobody")
    assert await audited(lab) == []
