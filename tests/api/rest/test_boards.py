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
    reported = await problem(await client.get("/sessions/ses_none/todos"))
    assert reported["code"] == "not_found"


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
    reported = await problem(await client.delete(f"/admin/forum/posts/{first}"))
    assert reported["code"] == "not_found"


async def test_secrets_in_posts_are_masked(client: httpx2.AsyncClient):
    secret = "ghp_" + "a1B2" * 9
    await _post(client, action="post", title="x", body=f"the token is {secret}")
    shown = await client.get("/admin/forum/posts")
    assert secret not in shown.text
    assert "the token is" in shown.text


async def test_an_administrator_begins_a_thread_that_agents_read_and_answer(
    client: httpx2.AsyncClient,
):
    new = {"title": "Freeze", "body": "No deploys today.", "board": "ops"}
    answer = await client.post("/admin/forum/posts", json=new)
    begun = answer.json()
    assert (answer.status_code, begun["project_id"], begun["board"]) == (201, "default", "ops")
    assert answer.headers["location"].endswith(f"/admin/forum/posts/{begun['number']}")
    await _post(client, action="reply", post=begun["number"], body="Understood.")

    path = f"/admin/forum/posts/{begun['number']}"
    replied = await client.post(f"{path}/replies", json={"body": "Thanks."})
    assert (replied.status_code, replied.json()["reply_to"]) == (201, begun["number"])
    thread = (await client.get(path)).json()
    assert thread["post"] == {**begun, "replies": 2}
    assert [post["body"] for post in thread["replies"]] == ["Understood.", "Thanks."]
    assert (await client.get(f"/admin/forum/posts/{replied.json()['number']}")).json() == thread

    page = {"limit": 1, "after": thread["replies"][0]["number"]}
    rest = (await client.get(path, params=page)).json()
    assert [post["body"] for post in rest["replies"]] == ["Thanks."]
    only = (await client.get("/admin/forum/posts", params={"threads": True})).json()["posts"]
    assert [post["number"] for post in only] == [begun["number"]]

    rows = (await client.get("/admin/audit", params={"kind": "forum.post"})).json()["rows"]
    written = [(row["subject"], row["outcome"]) for row in rows]
    assert sorted(written) == sorted(
        [(str(begun["number"]), "written"), (str(replied.json()["number"]), "written")]
    )


async def test_nothing_is_posted_where_nothing_is(client: httpx2.AsyncClient):
    new = {"title": "x", "body": "y"}
    lost = [
        await client.post("/admin/forum/posts", json={**new, "project_id": "nowhere"}),
        await client.post("/admin/forum/posts/99/replies", json={"body": "y"}),
        await client.get("/admin/forum/posts/99"),
    ]
    assert [(await problem(answer))["code"] for answer in lost] == ["not_found"] * 3
    for wrong in ({"title": " "}, {"body": ""}, {"board": "a b"}, {"title": "x" * 201}):
        reported = await problem(await client.post("/admin/forum/posts", json={**new, **wrong}))
        (field,) = wrong
        assert (reported["status"], reported["details"]["errors"][0]["path"]) == (
            422,
            f"body.{field}",
        )
    assert (await client.get("/admin/forum/posts")).json()["posts"] == []
