"""Projects over REST."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.api.rest.client import call, new_session, problem


@pytest.fixture
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    (folder / "a.txt").write_text("hello", encoding="utf-8")
    return folder


@pytest.fixture
async def site(client: httpx2.AsyncClient, root: Path) -> dict[str, Any]:
    answer = await client.post("/admin/projects", json={"name": "Site", "root": str(root)})
    assert (answer.status_code, answer.headers.get("etag")) == (201, '"1"')
    made: dict[str, Any] = answer.json()
    return made


async def test_a_project_is_made_used_changed_and_forgotten(
    client: httpx2.AsyncClient, site: dict[str, Any]
):
    path = f"/admin/projects/{site['id']}"
    session = await new_session(client, project_id=site["id"])
    read = await call(client, "read_file", arguments={"path": "a.txt"}, session_id=session)
    assert read["status"] == "success"
    changed = await client.patch(path, json={"name": "Web"}, headers={"If-Match": '"1"'})
    assert (changed.json()["name"], changed.headers["etag"]) == ("Web", '"2"')
    late = await client.patch(path, json={"name": "X"}, headers={"If-Match": '"1"'})
    assert late.status_code == 412
    assert (await client.delete(path)).json()["name"] == "Web"
    assert (await client.get(path)).status_code == 404
    assert (await client.get(f"/sessions/{session}/snapshot")).status_code == 200
    again = await client.post(
        "/tools/read_file/call", json={"arguments": {"path": "a.txt"}, "session_id": session}
    )
    assert again.status_code == 404


async def test_the_id_of_a_project_is_chosen_once(client: httpx2.AsyncClient, root: Path):
    wanted = {"id": "shop", "name": "Shop", "root": str(root)}
    made = await client.post("/admin/projects", json=wanted)
    again = await problem(await client.post("/admin/projects", json=wanted))
    reserved = await problem(await client.post("/admin/projects", json=wanted | {"id": "default"}))
    wrong = await problem(await client.post("/admin/projects", json=wanted | {"id": "my shop"}))

    assert (made.status_code, made.json()["id"]) == (201, "shop")
    assert (again["status"], again["code"]) == (409, "already_exists")
    assert (reserved["status"], reserved["code"]) == (409, "already_exists")
    assert wrong["status"] == 422
    assert await new_session(client, project_id="shop")


async def test_projects_are_listed_the_one_of_the_settings_too(
    client: httpx2.AsyncClient, site: dict[str, Any]
):
    listed = (await client.get("/admin/projects")).json()
    by_id = {item["id"]: item for item in listed["projects"]}
    assert by_id[site["id"]] == site
    assert (by_id["default"]["stored"], listed["total"]) == (False, 2)
    page = (await client.get("/admin/projects", params={"limit": 1})).json()
    assert (page["next_after"], len(page["projects"])) == ("default", 1)
    public = (await client.get("/projects")).json()["projects"]
    assert {item["name"] for item in public} == {"default", "Site"}


@pytest.mark.parametrize("root", ["relative", "/no/such/folder", "/", "/etc", "\0"])
async def test_a_bad_root_is_refused_by_name(client: httpx2.AsyncClient, root: str):
    answer = await client.post("/admin/projects", json={"name": "x", "root": root})
    assert (answer.status_code, (await problem(answer))["details"]["field"]) == (422, "root")


async def test_the_project_of_the_settings_is_changed_there(client: httpx2.AsyncClient):
    for answer in (
        await client.patch("/admin/projects/default", json={"name": "x"}),
        await client.delete("/admin/projects/default"),
    ):
        assert (answer.status_code, (await problem(answer))["code"]) == (409, "conflict")
