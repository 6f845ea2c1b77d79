"""Current rights of a user who set something up earlier, such as a subscription."""

from __future__ import annotations

from pathlib import Path

from app.governance.identity.token_rules import ADMIN_USER, LOCAL_USER
from tests.support.service import serving, settings_for


async def test_rights_are_those_of_the_token_and_end_with_it(tmp_path: Path):
    async with serving(settings_for(tmp_path, token="operator-secret-0123456789")) as running:
        rights_of, tokens = running.service.authenticator.rights_of, running.service.tokens
        _, token = await tokens.create("ann", ["approve"], agents=["builder"])
        found = await rights_of("ann", token.id)
        assert found is not None
        assert (found.scopes, found.agents) == (frozenset({"approve"}), frozenset({"builder"}))
        assert await rights_of("bob", token.id) is None
        assert await rights_of("ann", None) is None
        assert await rights_of(LOCAL_USER, None) is None
        owner = await rights_of(ADMIN_USER, None)
        assert owner is not None
        assert owner.is_admin
        await tokens.revoke(token.id)
        assert await rights_of("ann", token.id) is None


async def test_rights_without_a_token_end_when_tokens_are_issued(tmp_path: Path):
    async with serving(settings_for(tmp_path)) as running:
        rights_of, tokens = running.service.authenticator.rights_of, running.service.tokens
        anonymous = await rights_of(LOCAL_USER, None)
        assert anonymous is not None
        assert anonymous.is_admin
        assert await rights_of(ADMIN_USER, None) is None
        await tokens.create("ann", ["approve"])
        assert await rights_of(LOCAL_USER, None) is None
