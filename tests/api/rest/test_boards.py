"""What agents plan and post, over REST."""

from __future__ import annotations

import json
from typing import Any

import httpx2

from tests.api.rest.client import call, new_session, problem


async def _post(client: httpx2.AsyncClient, **arguments: Any) -> int:
    made = await call(client, "forum", arguments=arguments, session_id=await new_session(client))
    data = json.loads(made["record"]["result"])["data"]
    return int(data["post"]["number"])


async def test_clients_read_the_todo_list_of_a_session(client: httpx2.AsyncClient):
    session_id = await new_session(client)
    empty = (await client.get(f"/sessions/{session_id}/todos")).json()
    todos = [{"id": "1", "content": "Look", "status": "in_progress"}]
    await call(client, "todo", arguments={"todos": todos}, session_id=session_id)
    written = (await client.get(f"/sessions/{session_id}/todos")).json()

    assert empty == {"todos": [], "revision": 0, "updated_at": None}
    assert written["todos"] == [{**todos[0], "parent": None}]
    assert written["revision"] == 1


async def test_a_session_that_is_not_there_has_no_list(client: httpx2.AsyncClient):
    told = await problem(await client.get("/sessions/ses_none/todos"))
    assert told["code"] == "not_found"


async def test_an_administrator_pages_through_posts_and_removes_one(client: httpx2.AsyncClient):
    first = await _post(client, action="post", title="One", body="text")
    second = await _post(client, action="reply", post=first, body="an answer")

    page = (await client.get("/admin/forum/posts", params={"limit": 1})).json()
    rest = {"limit": 1, "before": page["next_before"]}
    older = (await client.get("/admin/forum/posts", params=rest)).json()
    assert [post["number"] for post in (*page["posts"], *older["posts"])] == [second, first]
    assert (older["posts"][0]["title"], older["posts"][0]["replies"]) == ("One", 1)

    gone = await client.delete(f"/admin/forum/posts/{first}")
    assert gone.json() == {"removed": 2}
    told = await problem(await client.delete(f"/admin/forum/posts/{first}"))
    assert told["code"] == "not_found"


async def test_secrets_in_posts_are_masked(client: httpx2.AsyncClient):
    secret = "ghp_" + "a1B2" * 9
    await _post(client, action="post", title="x", body=f"the token is {secret}")
    shown = await client.get("/admin/forum/posts")
    assert secret not in shown.text
    assert "the token is" in shown.text
