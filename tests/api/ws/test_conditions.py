"""What is wrong with the service reaches the clients of administrators that ask for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.asked import asking
from tests.support.service import Chat, Running

DATABASE = "tollgate.db"
ASK = {"type": "subscribe_conditions"}


@pytest.fixture
def running(serving: Running) -> Running:
    return serving


def aside(running: Running) -> tuple[Path, Path]:
    folder = running.service.settings.data_dir
    return folder / DATABASE, folder / "aside.db"


async def condition(chat: Chat) -> tuple[Any, ...]:
    sent = await chat.until("service_condition")
    return sent["code"], sent["state"], sent["refuses"]


async def test_an_administrator_is_sent_what_starts_and_what_ends(running: Running):
    database, other = aside(running)
    async with running.connect() as chat, running.connect() as silent:
        assert (await chat.command(**ASK))["result"] == {"conditions": []}
        assert (await chat.command(**ASK))["type"] == "ack"  # once more changes nothing
        database.rename(other)
        assert await condition(chat) == ("database_lost", "started", "everything")
        assert "was removed while the service runs" in chat.seen[-1]["message"]
        other.rename(database)
        assert await condition(chat) == ("database_lost", "ended", "everything")
        assert (await chat.command(type="ping"))["type"] == "ack"
        assert len([m for m in chat.seen if m["type"] == "service_condition"]) == 2
        await silent.command(type="ping")
        assert "service_condition" not in {message["type"] for message in silent.seen}


async def test_what_lasts_is_in_the_answer(running: Running):
    database, other = aside(running)
    async with running.connect() as chat, running.connect() as first:
        await first.command(**ASK)
        database.rename(other)
        await condition(first)
        (lasting,) = (await chat.command(**ASK))["result"]["conditions"]
        sent = first.seen[-1]
        assert lasting | {"ts": ""} == {k: sent[k] for k in lasting} | {"ts": ""}
        assert "v" not in lasting
        other.rename(database)
        assert await condition(chat) == ("database_lost", "ended", "everything")


async def test_nobody_else_is_sent_it_and_who_has_left_is_forgotten(running: Running):
    secret, _ = await running.service.tokens.create("ann", ("chat", "tools:call", "approve"))
    admin, _ = await running.service.tokens.create("root", ("admin",))
    headers = {"Authorization": f"Bearer {secret}"}
    async with running.connect(additional_headers=headers) as chat:
        refused = await chat.command(**ASK)
        assert (refused["type"], refused["error"]["code"]) == ("error", "forbidden")
        assert not running.service.conditions.listeners
    headers = {"Authorization": f"Bearer {admin}"}
    async with running.connect(additional_headers=headers) as chat:
        await chat.command(**ASK)
        assert len(running.service.conditions.listeners) == 1
    async with asking(running.url) as asked:
        while running.service.conditions.listeners:
            await asked.health()
