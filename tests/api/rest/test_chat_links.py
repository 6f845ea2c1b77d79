"""Chat accounts of a user, and the key that browsers subscribe with."""

from __future__ import annotations

import httpx2

from app.channels.notifications.push_encryption import decode, public_key
from tests.api.people import holding
from tests.api.rest.client import problem
from tests.support.service import Running


async def token(serving: Running, name: str, *scopes: str) -> str:
    secret, _ = await serving.service.tokens.create(name, scopes or ("approve",))
    return secret


async def linked(client: httpx2.AsyncClient) -> list[tuple[str, str]]:
    answer = await client.get("/me/chat-links")
    assert answer.status_code == 200, answer.text
    return [(link["channel"], link["sender"]) for link in answer.json()["links"]]


async def test_a_code_links_an_account_which_its_user_ends(serving: Running):
    links = serving.service.chat_links
    async with (
        holding(serving, await token(serving, "ann")) as ann,
        holding(serving, await token(serving, "bob")) as bob,
    ):
        made = (await ann.post("/me/chat-links/code")).json()
        link = await links.redeem("telegram", "7", made["link_code"])
        assert link is not None
        assert await linked(ann) == [("telegram", "7")]
        assert await linked(bob) == []

        refused = await problem(await bob.delete(f"/me/chat-links/{link.id}"))
        assert refused["code"] == "not_found"
        gone = await ann.delete(f"/me/chat-links/{link.id}")
        assert gone.json()["id"] == link.id
        assert await linked(ann) == []
        assert await links.find("telegram", "7") is None


async def test_who_may_not_approve_links_nothing(serving: Running):
    async with holding(serving, await token(serving, "ann", "chat")) as ann:
        refused = await problem(await ann.post("/me/chat-links/code"))
        assert refused["code"] == "forbidden"


async def test_a_browser_gets_the_key_to_subscribe_with(serving: Running):
    async with holding(serving, await token(serving, "ann", "chat")) as ann:
        key = (await ann.get("/me/push-key")).json()["public_key"]
        assert (await ann.get("/me/push-key")).json()["public_key"] == key
    public_key(decode(key))
    path = serving.service.settings.data_dir / "keys" / "web-push.key"
    assert path.stat().st_mode & 0o077 == 0
