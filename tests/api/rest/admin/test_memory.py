"""Memory over REST: looked up, corrected, forgotten, exported, taken in."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest

from tests.api.rest.client import call, problem
from tests.support.service import Running

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2"
ANN = {"scope": "user", "owner": "ann"}


async def taken_in(client: httpx2.AsyncClient, *memories: dict[str, Any], **body: Any) -> Any:
    answer = await client.post("/admin/memory/import", json={"memories": memories, **body})
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.fixture
async def three(client: httpx2.AsyncClient) -> list[dict[str, Any]]:
    """Two memories of ann and one of a project, newest first."""
    await taken_in(
        client,
        {**ANN, "content": "Ann 喜欢龙井茶", "key": "tea", "tags": ["drinks"]},
        {**ANN, "content": "Ann prefers Vim", "key": "editor"},
        {"scope": "project", "owner": "default", "content": "releases on Tuesdays"},
    )
    listed: list[dict[str, Any]] = (await client.get("/admin/memory")).json()["memories"]
    return listed


async def audited(running: Running, kind: str) -> list[dict[str, Any]]:
    db = running.service.db
    await db.flush()
    rows = await db.transact(
        lambda transaction: transaction.fetch(
            "SELECT detail FROM audit WHERE kind = ? ORDER BY seq", (kind,)
        )
    )
    return [json.loads(row[0]) for row in rows]


@pytest.mark.requirement("MEM-01")
async def test_saved_in_session_a_recalled_in_session_b(client: httpx2.AsyncClient):
    saved = await call(client, "memory_save", arguments={"content": "用户叫陈老师"})
    found = await call(client, "memory_recall", arguments={"query": "老师"})

    assert saved["session_id"] != found["session_id"]
    lines = json.loads(found["record"]["result"])["data"]["lines"]
    assert [line["content"] for line in lines] == ["用户叫陈老师"]


async def test_memories_are_listed_by_filter_and_by_page(
    client: httpx2.AsyncClient, three: list[dict[str, Any]]
):
    assert [item["owner"] for item in three] == ["default", "ann", "ann"]
    for query, keys in (
        ({"scope": "project"}, ["m1"]),
        ({"owner": "ann"}, ["editor", "tea"]),
        ({"tag": "DRINKS"}, ["tea"]),
        ({"query": "龙井"}, ["tea"]),
        ({"query": "prefers tea"}, []),
        ({"query": "?!"}, []),
        ({"until": "2020-01-01"}, []),
    ):
        page = (await client.get("/admin/memory", params=query)).json()
        assert ([item["key"] for item in page["memories"]], page["total"]) == (keys, len(keys))
    first = (await client.get("/admin/memory", params={"limit": 2})).json()
    rest = (await client.get("/admin/memory", params={"before": first["next_before"]})).json()
    assert (first["memories"] + rest["memories"], first["total"]) == (three, 3)


async def test_a_memory_is_corrected_by_its_version(
    client: httpx2.AsyncClient, three: list[dict[str, Any]], serving: Running
):
    path = f"/admin/memory/{three[1]['id']}"
    etag = (await client.get(path)).headers["etag"]

    changed = await client.patch(
        path, json={"content": "Ann prefers Emacs"}, headers={"If-Match": etag}
    )
    assert (changed.status_code, changed.json()["tags"]) == (200, [])
    late = await client.patch(path, json={"content": "x"}, headers={"If-Match": etag})
    assert (late.status_code, (await problem(late))["code"]) == (412, "version_mismatch")
    found = (await client.get("/admin/memory", params={"query": "emacs"})).json()
    assert [item["user_id"] for item in found["memories"]] == ["local"]

    (noted,) = await audited(serving, "memory.changed")
    assert noted["before"]["digest"] != noted["after"]["digest"]
    assert noted["after"]["characters"] == len("Ann prefers Emacs")
    assert "Emacs" not in str(noted)


async def test_a_memory_is_forgotten(
    client: httpx2.AsyncClient, three: list[dict[str, Any]], serving: Running
):
    path = f"/admin/memory/{three[2]['id']}"
    late = await client.delete(path, headers={"If-Match": '"99"'})
    assert late.status_code == 412
    assert (await client.delete(path)).json()["key"] == "tea"
    gone = await client.delete(path)
    assert (gone.status_code, (await problem(gone))["code"]) == (404, "not_found")
    assert (await client.get("/admin/memory", params={"query": "龙井"})).json()["total"] == 0
    assert "龙井" not in str(await audited(serving, "memory.forgotten"))


async def test_many_are_forgotten_after_they_were_counted(
    client: httpx2.AsyncClient, three: list[dict[str, Any]], serving: Running
):
    path = "/admin/memory/forget"
    assert (await client.post(path, json=ANN)).json() == {"matched": 2, "forgotten": 0}
    wrong = await client.post(path, json={**ANN, "dry_run": False, "expected": 3})
    assert (wrong.status_code, (await problem(wrong))["code"]) == (409, "conflict")
    done = await client.post(path, json={**ANN, "dry_run": False, "expected": 2})
    assert done.json() == {"matched": 2, "forgotten": 2}
    left = (await client.get("/admin/memory")).json()["memories"]
    assert [item["id"] for item in left] == [three[0]["id"]]
    (noted,) = await audited(serving, "memory.forgotten")
    assert [item["key"] for item in noted["memories"]] == ["tea", "editor"]


async def test_everything_is_forgotten_only_when_it_is_said(
    client: httpx2.AsyncClient, three: list[dict[str, Any]]
):
    refused = await client.post("/admin/memory/forget", json={"dry_run": False})
    assert refused.status_code == 422
    assert (await client.get("/admin/memory")).json()["total"] == len(three)
    done = await client.post("/admin/memory/forget", json={"dry_run": False, "every": True})
    assert done.json()["forgotten"] == 3


async def test_an_export_can_be_taken_in_elsewhere(
    client: httpx2.AsyncClient, three: list[dict[str, Any]], serving: Running
):
    answer = await client.get("/admin/memory/export", params={"owner": "ann"})
    assert answer.headers["content-type"] == "application/x-ndjson"
    lines = [json.loads(line) for line in answer.text.splitlines()]
    assert lines == [three[2], three[1]]
    assert await audited(serving, "memory.exported") == [{"filters": {"owner": "ann"}, "count": 2}]

    again = await taken_in(client, *lines)
    assert again == {"created": 0, "changed": 0, "unchanged": 2, "skipped": 0}
    await client.post("/admin/memory/forget", json={"every": True, "dry_run": False})
    assert (await taken_in(client, *lines))["created"] == 2
    found = (await client.get("/admin/memory", params={"query": "龙井"})).json()["memories"]
    assert found[0]["updated_at"] == three[2]["updated_at"]


async def test_more_memories_than_a_page_are_exported_and_forgotten(
    client: httpx2.AsyncClient,
):
    for start in (0, 600):
        await taken_in(client, *({**ANN, "content": f"number {start + at}"} for at in range(600)))
    exported = (await client.get("/admin/memory/export")).text.splitlines()
    numbers = [json.loads(line)["content"] for line in exported]
    assert numbers == [f"number {number}" for number in range(1200)]
    done = await client.post("/admin/memory/forget", json={**ANN, "dry_run": False})
    assert done.json()["forgotten"] == 1200


async def test_of_an_import_with_a_taken_key_nothing_is_kept_unless_it_says_how(
    client: httpx2.AsyncClient, three: list[dict[str, Any]]
):
    entries = [{**ANN, "content": "new"}, {**ANN, "content": "Emacs", "key": "editor"}]

    refused = await client.post("/admin/memory/import", json={"memories": entries})
    assert refused.status_code == 409
    assert (await problem(refused))["details"]["field"] == "memories[1].key"
    assert (await client.get("/admin/memory")).json()["total"] == len(three)
    skipped = await taken_in(client, entries[1], on_conflict="skip")
    assert skipped["skipped"] == 1
    replaced = await taken_in(client, entries[1], on_conflict="replace")
    assert replaced["changed"] == 1
    found = (await client.get("/admin/memory", params={"query": "emacs"})).json()
    assert [item["key"] for item in found["memories"]] == ["editor"]


async def test_secrets_come_in_by_no_way(client: httpx2.AsyncClient, three: list[dict[str, Any]]):
    entry = {**ANN, "content": f"token {SECRET}"}
    taken = await client.post("/admin/memory/import", json={"memories": [three[0], entry]})
    changed = await client.patch(f"/admin/memory/{three[0]['id']}", json={"content": SECRET})

    for answer, field in ((taken, "memories[1]"), (changed, "content or tags")):
        assert answer.status_code == 422
        assert (await problem(answer))["details"]["field"] == field
        assert SECRET not in answer.text


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/admin/memory/import", {"memories": []}),
        ("/admin/memory/import", {"memories": [{"scope": "all", "owner": "a", "content": "x"}]}),
        (
            "/admin/memory/import",
            {"memories": [{"scope": "user", "owner": "a", "content": "x", "updated_at": "soon"}]},
        ),
        ("/admin/memory/forget", {"until": "soon"}),
        ("/admin/memory/forget", {"wner": "ann", "dry_run": False}),
    ],
)
async def test_what_makes_no_sense_is_refused(
    client: httpx2.AsyncClient, path: str, body: dict[str, Any]
):
    answer = await client.post(path, json=body)
    assert answer.status_code == 422
    assert (await problem(answer))["code"] == "validation_failed"
