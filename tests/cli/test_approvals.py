"""`tollgate approvals` lists, shows, watches and answers pending requests."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.cli.program import on_terminal, tollgate
from tests.support.service import Chat, Running, serving, settings_for

ADMIN = "operator-secret-0123456789"


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Running]:
    async with serving(settings_for(tmp_path, token=ADMIN)) as service:
        yield service


async def approvals(running: Running, *words: str, secret: str = ADMIN) -> CompletedProcess[str]:
    """Run the command beside the service, which runs in this process."""
    folder = running.service.settings.data_dir
    place = {"TOLLGATE_URL": running.url, "TOLLGATE_TOKEN": secret}
    return await asyncio.to_thread(tollgate, folder, "approvals", *words, **place)


async def ask(running: Running, chat: Chat, command: str) -> str:
    """Make a call that waits; return its confirmation."""
    session = running.session(user_id="ann")
    await chat.command(type="subscribe", session_id=session.id)
    call = {"name": "bash", "arguments": {"command": command}}
    await chat.command(type="tool_call", session_id=session.id, **call)
    confirmation_id: str = (await chat.until("tool_confirmation_request"))["confirmation_id"]
    return confirmation_id


async def test_a_call_is_listed_shown_declined_and_gone(running: Running):
    nothing = await approvals(running, "list")
    assert (nothing.returncode, nothing.stdout) == (0, "")
    assert nothing.stderr == "Nothing is waiting for you.\n"
    async with running.connect(hello={"auth": {"token": ADMIN}}) as chat:
        confirmation_id = await ask(running, chat, "rm -rf build")
        (line,) = (await approvals(running, "list")).stdout.splitlines()
        assert line.split()[0] == confirmation_id
        assert "bash: rm -rf build" in line
        (row,) = json.loads((await approvals(running, "list", "--json")).stdout)["confirmations"]
        assert row["confirmation_id"] == confirmation_id
        shown = (await approvals(running, "show", confirmation_id)).stdout
        for part in ("Allow bash to run?", "| rm -rf build", "risk: high", "deletes", "1) "):
            assert part in shown
        done = await approvals(running, "decline", confirmation_id, "--note", "Not today.")
        assert done.stdout.startswith("declined: bash: rm -rf build")
        resolved = await chat.until("tool_confirmation_resolved")
        assert (resolved["outcome"], resolved["message"]) == ("declined", "Not today.")
        assert (await approvals(running, "list")).stdout == ""
        late = await approvals(running, "approve", confirmation_id)
        assert (late.returncode, late.stdout) == (1, "")
        assert "declined" in late.stderr
        assert "  declined by" in (await approvals(running, "show", confirmation_id)).stdout


async def test_a_call_is_approved_once_or_as_an_option_says(running: Running):
    async with running.connect(hello={"auth": {"token": ADMIN}}) as chat:
        first = await ask(running, chat, "rm -rf one")
        assert (await approvals(running, "approve", first)).stdout == "approved: bash: rm -rf one\n"
        completed = await chat.until("tool_call_completed")
        assert completed["status"] == "success"
        second = await ask(running, chat, "rm -rf two")
        view = json.loads((await approvals(running, "show", second, "--json")).stdout)
        kinds = [option["kind"] for option in view["request"]["options"]]
        wrong = str(kinds.index("deny") + 1)
        refused = await approvals(running, "approve", second, "--option", wrong)
        assert refused.returncode == 2
        assert "does not approve" in refused.stderr
        beyond = await approvals(running, "approve", second, "--option", "99")
        assert (beyond.returncode, beyond.stdout) == (2, "")
        right = str(kinds.index("allow") + 1)
        done = await approvals(running, "approve", second, "--option", right)
        assert done.stdout.startswith("approved: ")


async def test_who_may_not_approve_is_refused(running: Running):
    secret, _ = await running.service.tokens.create("bob", ("approve",))
    only_chat, _ = await running.service.tokens.create("ann", ("chat",))
    async with running.connect(hello={"auth": {"token": ADMIN}}) as chat:
        confirmation_id = await ask(running, chat, "rm -rf build")
        assert (await approvals(running, "list", secret=secret)).stdout == ""
        for words in (("show",), ("approve",), ("decline",)):
            other = await approvals(running, *words, confirmation_id, secret=secret)
            assert (other.returncode, other.stdout) == (1, ""), words
            assert "not found" in other.stderr
        refused = await approvals(running, "list", secret=only_chat)
        assert (refused.returncode, refused.stdout) == (1, "")
        assert "approve" in refused.stderr


async def test_what_comes_and_goes_is_printed_as_it_happens(
    running: Running, monkeypatch: pytest.MonkeyPatch
):
    folder = running.service.settings.data_dir
    monkeypatch.setenv("TOLLGATE_TOKEN", ADMIN)
    words = ["approvals", "watch", "--url", running.url, "--token", ADMIN]
    async with running.connect(hello={"auth": {"token": ADMIN}}) as chat:
        first = await ask(running, chat, "rm -rf one")
        async with on_terminal(folder, words) as terminal:
            await terminal.expect(f"waiting    {first}")
            second = await ask(running, chat, "rm -rf two")
            await terminal.expect(f"waiting    {second}")
            await approvals(running, "decline", first)
            await terminal.expect("declined by")
            await terminal.expect(first)
            terminal.type("\x03")
            assert await terminal.ended() == 130


async def test_a_call_without_a_terminal_is_answered_elsewhere_and_by_nobody_else(tmp_path: Path):
    settings = settings_for(tmp_path, token=ADMIN, unattended="suspend")
    async with serving(settings) as running:
        place = {"TOLLGATE_URL": running.url, "TOLLGATE_TOKEN": ADMIN}
        words = ("call", "bash", "command=rm -f nothing; echo done")
        calling = asyncio.create_task(
            asyncio.to_thread(tollgate, running.service.settings.data_dir, *words, **place)
        )
        async with running.connect(hello={"auth": {"token": ADMIN}}) as chat:
            await chat.command(type="subscribe_inbox")
            opened = await chat.until("inbox_changed")
            assert opened["state"] == "opened"
            confirmation_id = opened["entry"]["id"]
            assert (await approvals(running, "approve", confirmation_id)).returncode == 0
            closed = await chat.until("inbox_changed")
            assert (closed["state"], closed["outcome"]) == ("closed", "approved")
        done = await calling
    assert (done.returncode, done.stdout) == (0, "done\n")
    assert "it waits for an answer elsewhere" in done.stderr
