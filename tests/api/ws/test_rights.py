"""Rights end when what gave them ends, also on an open connection."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import websockets

from app.core.errors import Unauthenticated
from app.governance.audit.filters import AuditFilters
from app.governance.audit.reader import AuditReader
from tests.api.people import browser
from tests.support.service import Chat, Running, serving, settings_for

OWNER = "operator-secret-0123456789"


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
        ticket = running.service.ws_tickets.issue(
            await running.service.authenticator.authenticate(secret)
        )
        async with running.connect(hello={"auth": {"ticket": ticket}}) as chat:
            await tokens.revoke(token.id)
            code = await end_of(chat)

    assert code == 4506


async def test_a_ticket_is_worth_nothing_after_its_token(tmp_path: Path):
    async with serving(settings_for(tmp_path, token=OWNER)) as running:
        service = running.service
        secret, token = await service.tokens.create("dashboard", ("chat",))
        ticket = service.ws_tickets.issue(await service.authenticator.authenticate(secret))
        await service.tokens.revoke(token.id)
        code = await first_code(running, hello={"auth": {"ticket": ticket}})

    assert code == 4501


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
        await service.db.transact(
            lambda transaction: transaction.execute("UPDATE tokens SET expires_at = '2020-01-01'")
        )
        await service.tokens.refresh()
        with pytest.raises(Unauthenticated):
            await service.authenticator.authenticate(None)


async def test_one_user_cannot_take_all_tickets(running: Running):
    principal = await running.service.authenticator.authenticate(None)
    for _ in range(50):
        running.service.ws_tickets.issue(principal)

    with pytest.raises(Exception, match="Too many open tickets"):
        running.service.ws_tickets.issue(principal)


async def test_a_host_name_is_the_same_in_any_case(tmp_path: Path):
    async with serving(settings_for(tmp_path, allowed_hosts="MyHost.example")) as running:
        running.service.authenticator.check_host(["myhost.EXAMPLE:8420"])


async def first_code(running: Running, **options: Any) -> int:
    """How a connection ends that says hello without a token; 0 when it is let in."""
    try:
        async with running.connect(**options):
            return 0
    except websockets.ConnectionClosedError as closed:
        return closed.rcvd.code if closed.rcvd else 1006


async def test_a_signed_in_page_needs_no_token_but_must_be_ours(tmp_path: Path):
    async with (
        serving(settings_for(tmp_path, token=OWNER)) as running,
        browser(running, OWNER) as owner,
    ):
        cookie = {"cookie": owner.cookie}
        own = await first_code(running, origin=running.url, additional_headers=cookie)
        without_origin = await first_code(running, additional_headers=cookie)
        wrong = {"cookie": "tollgate_login=guess"}
        guessed = await first_code(running, origin=running.url, additional_headers=wrong)
        with pytest.raises(websockets.InvalidStatus) as foreign:
            await first_code(running, origin="https://evil.example", additional_headers=cookie)

    assert (own, without_origin, guessed) == (0, 4501, 4501)
    assert foreign.value.response.status_code == 403


async def test_signing_out_ends_the_connections_of_the_login(tmp_path: Path):
    settings = settings_for(tmp_path, token=OWNER, heartbeat_s=0.05)
    async with serving(settings) as running, browser(running, OWNER) as owner:
        cookie = {"cookie": owner.cookie}
        async with running.connect(origin=running.url, additional_headers=cookie) as chat:
            await owner.client.post("/logout", headers=owner.page)
            code = await end_of(chat)

    assert code == 4506


async def test_a_token_that_expires_while_connected_asks_for_a_new_one(tmp_path: Path):
    settings = settings_for(tmp_path, token=OWNER, heartbeat_s=0.05)
    async with serving(settings) as running:
        tokens = running.service.tokens
        secret, token = await tokens.create("dashboard", ("chat",), days=1)
        async with running.connect(hello={"auth": {"token": secret}}) as chat:
            await running.service.db.transact(
                lambda transaction: transaction.execute(
                    "UPDATE tokens SET expires_at = '2020-01-01' WHERE id = ?", (token.id,)
                )
            )
            await tokens.refresh()
            code = await end_of(chat)

    assert code == 4005


async def test_a_revoked_token_ends_its_connection_long_before_the_next_heartbeat(tmp_path: Path):
    async with serving(settings_for(tmp_path, token=OWNER, heartbeat_s=3600)) as running:
        secret, token = await running.service.tokens.create("dashboard", ("chat",))
        async with running.connect(hello={"auth": {"token": secret}}) as chat:
            await running.service.tokens.revoke(token.id)
            code = await end_of(chat)

    assert code == 4506


async def test_a_revoked_token_carries_out_no_further_command(tmp_path: Path):
    async with serving(settings_for(tmp_path, token=OWNER, heartbeat_s=3600)) as running:
        secret, token = await running.service.tokens.create("dashboard", ("chat", "tools:call"))
        session = running.session(user_id="dashboard")
        call = {"name": "bash", "arguments": {"command": "echo x >> log"}}
        async with running.connect(hello={"auth": {"token": secret}}) as chat:
            await running.service.tokens.revoke(token.id)
            await chat.send({"type": "tool_call", "id": "1", "session_id": session.id, **call})
            code = await end_of(chat)

    assert code == 4506
    assert not (running.service.settings.workspace_dir / "log").exists()


async def test_what_a_token_may_not_do_stands_in_the_audit(tmp_path: Path):
    async with serving(settings_for(tmp_path, token=OWNER)) as running:
        secret, _ = await running.service.tokens.create("ann", ("chat",))
        session = running.session(user_id="ann")
        call = {"name": "calculator", "arguments": {"expression": "1"}}
        async with running.connect(hello={"auth": {"token": secret}}) as ann:
            refused = await ann.command(type="tool_call", session_id=session.id, **call)
        await running.service.db.flush()
        (row,) = await AuditReader(running.service.database).page(
            AuditFilters(kind="auth.refused"), limit=5
        )

    assert refused["error"]["code"] == "forbidden"
    assert row.actor == "ann"
    assert "Requires the scope 'tools:call'" in row.detail
    assert '"what":"tool_call"' in row.detail


async def test_the_ids_of_one_token_neither_answer_nor_block_another_of_the_same_user(
    tmp_path: Path,
):
    async with serving(settings_for(tmp_path, token=OWNER)) as running:
        tokens = running.service.tokens
        first, _ = await tokens.create("ann", ("chat", "tools:call"))
        second, _ = await tokens.create("ann", ("chat", "tools:call"))
        lesser, _ = await tokens.create("ann", ("chat",))
        session = running.session(user_id="ann")
        command = {
            "type": "tool_call",
            "id": "1",
            "session_id": session.id,
            "name": "bash",
            "arguments": {"command": "echo x >> log"},
        }
        answers: list[dict[str, Any]] = []
        for secret in (first, second, lesser):
            async with running.connect(hello={"auth": {"token": secret}}) as chat:
                await chat.command(type="subscribe", session_id=session.id)
                await chat.send(command)
                answers.append(await chat.answer_to("1"))
                if secret != lesser:
                    # The replay has the end of the run before.
                    run_id = answers[-1]["result"]["run_id"]
                    while (await chat.until("run_finished"))["run_id"] != run_id:
                        pass
        async with running.connect(hello={"auth": {"token": second}}) as chat:
            await chat.send(command)
            again = await chat.answer_to("1")

    assert [answer.get("duplicate") for answer in answers] == [False, False, None]
    assert answers[2]["error"]["code"] == "forbidden"
    assert (again["duplicate"], again["result"]) == (True, answers[1]["result"])
    assert (running.service.settings.workspace_dir / "log").read_text() == "x\nx\n"
