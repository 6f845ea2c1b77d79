"""Rights end when what gave them ends, also on an open connection."""

from __future__ import annotations

from pathlib import Path

import pytest
import websockets

from app.core.errors import Unauthenticated
from tests.support.service import Chat, Running, serving, settings_for


async def end_of(chat: Chat) -> int:
    with pytest.raises(websockets.ConnectionClosedError) as closed:
        await chat.until("never")
    assert closed.value.rcvd is not None
    return closed.value.rcvd.code


async def test_a_ticket_ends_with_the_token_it_came_from(tmp_path: Path):
    settings = settings_for(tmp_path, token="the-admin-token", heartbeat_s=0.05)
    async with serving(settings) as running:
        tokens = running.service.tokens
        secret, token = await tokens.create("dashboard", ("chat",))
        ticket = running.service.tickets.issue(
            await running.service.authenticator.authenticate(secret)
        )
        async with running.connect(hello={"auth": {"ticket": ticket}}) as chat:
            await tokens.revoke(token.id)
            code = await end_of(chat)

    assert code == 4506


async def test_the_first_token_ends_what_was_open_to_everybody(tmp_path: Path):
    async with (
        serving(settings_for(tmp_path, heartbeat_s=0.05)) as running,
        running.connect() as chat,
    ):
        await running.service.tokens.create("first", ("chat",))
        code = await end_of(chat)

    assert code == 4506


async def test_a_house_does_not_open_again_when_its_last_token_expires(tmp_path: Path):
    async with serving(settings_for(tmp_path)) as running:
        service = running.service
        await service.tokens.create("short", ("chat",), days=1)
        await service.gate.ledger.transact(
            lambda transaction: transaction.execute("UPDATE tokens SET expires_at = '2020-01-01'")
        )
        await service.tokens.refresh()
        with pytest.raises(Unauthenticated):
            await service.authenticator.authenticate(None)


async def test_one_user_cannot_take_all_tickets(running: Running):
    principal = await running.service.authenticator.authenticate(None)
    for _ in range(50):
        running.service.tickets.issue(principal)

    with pytest.raises(Exception, match="Too many open tickets"):
        running.service.tickets.issue(principal)


async def test_a_host_name_is_the_same_in_any_case(tmp_path: Path):
    async with serving(settings_for(tmp_path, allowed_hosts="MyHost.example")) as running:
        running.service.authenticator.check_host("myhost.EXAMPLE:8420")
