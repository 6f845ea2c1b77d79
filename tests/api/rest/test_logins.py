"""The browsers of a token: seen, and signed out one by one."""

from __future__ import annotations

from typing import Any

import httpx2

from tests.api.people import browser, holding
from tests.api.rest.client import problem
from tests.support.service import Running


async def logins(client: httpx2.AsyncClient, **query: Any) -> list[dict[str, Any]]:
    answer = await client.get("/logins", params=query)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["logins"]
    return found


async def token(serving: Running, name: str, *scopes: str) -> str:
    secret, _ = await serving.service.tokens.create(name, scopes or ("chat",))
    return secret


async def test_a_browser_sees_those_of_its_token_and_signs_another_out(serving: Running):
    secret = await token(serving, "ann")
    async with browser(serving, secret) as home, browser(serving, secret) as work:
        listed = await logins(home.client)
        assert sorted(login["is_this"] for login in listed) == [False, True]
        (other,) = [login for login in listed if not login["is_this"]]
        assert {other["user_id"], other["created_at"] <= other["last_used_at"]} == {"ann", True}

        gone = await home.client.delete(f"/logins/{other['id']}", headers=home.page)

        assert gone.json() == {"signed_out": True}
        assert (await work.client.get("/me")).status_code == 401
        assert (await home.client.get("/me")).status_code == 200
        assert [login["is_this"] for login in await logins(home.client)] == [True]


async def test_nobody_sees_or_ends_those_of_another_token(serving: Running):
    mine, other = await token(serving, "ann"), await token(serving, "ann")
    async with browser(serving, mine) as ann, holding(serving, other) as same_name:
        (login,) = await logins(ann.client)

        assert await logins(same_name) == []
        reported = await problem(await same_name.delete(f"/logins/{login['id']}"))
        assert reported["code"] == "not_found"
        refused = await problem(await same_name.get("/logins", params={"everybody": True}))
        assert refused["code"] == "forbidden"
        assert (await ann.client.get("/me")).status_code == 200


async def test_an_administrator_sees_all_and_ends_one_which_the_audit_tells(serving: Running):
    admin = await token(serving, "root", "admin")
    secret = await token(serving, "ann")
    async with browser(serving, secret) as ann, holding(serving, admin) as root:
        (login,) = await logins(root, everybody=True)
        assert (login["user_id"], login["is_this"]) == ("ann", False)

        assert (await root.delete(f"/logins/{login['id']}")).status_code == 200

        assert (await ann.client.get("/me")).status_code == 401
        assert await logins(root, everybody=True) == []
        rows = (await root.get("/admin/audit", params={"kind": "auth.logout"})).json()["rows"]
        assert [(row["actor"], row["subject"]) for row in rows] == [("root", login["id"])]
        again = await problem(await root.delete(f"/logins/{login['id']}"))
        assert again["code"] == "not_found"


async def test_an_open_house_shows_nobody_s(client: httpx2.AsyncClient, serving: Running):
    await serving.service.logins.begin("admin", None, source="127.0.0.1")

    assert (await client.get("/me")).json()["came_by"] == "open_house"
    assert await logins(client) == []
