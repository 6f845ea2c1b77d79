"""Projects over REST."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx2
import pytest

from app.bootstrap.installation import sandbox_config
from app.config.sections import SandboxSettings
from app.core.host_rules import MAX_RULES, PRESETS
from tests.api.rest.client import call, new_session, problem
from tests.support.http import HttpClient
from tests.support.service import serving, settings_for


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


async def test_allowed_hosts_are_listed_in_their_usual_form(
    client: httpx2.AsyncClient, site: dict[str, Any]
):
    path = f"/admin/projects/{site['id']}"
    hosts = ["GitHub.com:443,22", " *.example.com:443", "*.example.com", "preset:python"]
    changed = await client.patch(path, json={"allowed_hosts": hosts})
    assert changed.status_code == 200, changed.text
    usual = ["github.com:22,443", "*.example.com", "preset:python"]
    assert changed.json()["allowed_hosts"] == usual
    assert (await client.get(path)).json()["allowed_hosts"] == usual
    again = await client.patch(path, json={"allowed_hosts": usual})
    assert again.json()["version"] == changed.json()["version"]
    assert (await client.patch(path, json={"allowed_hosts": []})).json()["allowed_hosts"] == []


@pytest.mark.parametrize(
    "host", ["https://example.com/", "*.com", "example.com:0", "preset:cobol", "2130706433", "a b"]
)
async def test_a_bad_host_is_refused_with_its_field_and_its_text(
    client: httpx2.AsyncClient, root: Path, host: str
):
    body = {"name": "x", "root": str(root), "allowed_hosts": ["example.com", host]}
    refused = await problem(await client.post("/admin/projects", json=body))
    assert (refused["status"], refused["code"]) == (422, "validation_failed")
    (error,) = refused["details"]["errors"]
    assert (error["path"], error["code"]) == ("body.allowed_hosts[1]", "invalid_value")
    assert host.removeprefix("preset:") in error["message"]


async def test_too_many_hosts_are_refused(client: httpx2.AsyncClient, site: dict[str, Any]):
    hosts = [f"h{number}.example.com" for number in range(MAX_RULES + 1)]
    path = f"/admin/projects/{site['id']}"
    refused = await problem(await client.patch(path, json={"allowed_hosts": hosts}))
    (error,) = refused["details"]["errors"]
    assert (error["path"], error["code"]) == ("body.allowed_hosts", "too_long")
    accepted = await client.patch(path, json={"allowed_hosts": hosts[:MAX_RULES]})
    assert accepted.json()["allowed_hosts"] == hosts[:MAX_RULES]


async def test_hosts_beside_ports_are_refused_with_the_names_of_both(
    client: httpx2.AsyncClient, site: dict[str, Any]
):
    path = f"/admin/projects/{site['id']}"
    assert (await client.patch(path, json={"tcp_ports": [443]})).status_code == 200
    refused = await problem(await client.patch(path, json={"allowed_hosts": ["github.com"]}))
    assert (refused["status"], refused["code"]) == (422, "validation_failed")
    (error,) = refused["details"]["errors"]
    assert (error["path"], error["code"]) == ("body.allowed_hosts", "not_with")
    assert error["values"] == {"given": "allowed_hosts", "needed": "tcp_ports"}
    both = {"allowed_hosts": ["github.com"], "tcp_ports": []}
    assert (await client.patch(path, json=both)).status_code == 200


async def test_the_project_of_the_settings_has_the_hosts_of_the_settings(tmp_path: Path):
    sandbox = SandboxSettings(
        warm_workers=0, allowed_hosts=["GitHub.com:443"], allow_networks=["10.1.0.0/16"]
    )
    settings = settings_for(tmp_path, sandbox=sandbox)
    async with serving(settings) as running, HttpClient(base_url=running.api) as client:
        shown = (await client.get("/admin/projects/default")).json()
    assert (shown["allowed_hosts"], shown["tcp_ports"]) == (["github.com"], [])
    assert sandbox_config(settings).allow_networks == ("10.1.0.0/16",)


async def test_every_preset_that_is_offered_can_be_allowed(
    client: httpx2.AsyncClient, site: dict[str, Any]
):
    presets = (await client.get("/admin/network/presets")).json()["presets"]
    by_name = {preset["name"]: preset["hosts"] for preset in presets}
    assert by_name["go"] == list(PRESETS["go"])
    named = [f"preset:{name}" for name in by_name]
    path = f"/admin/projects/{site['id']}"
    assert (await client.patch(path, json={"allowed_hosts": named})).json()[
        "allowed_hosts"
    ] == named
    listed = [host for hosts in by_name.values() for host in hosts]
    assert (await client.patch(path, json={"allowed_hosts": listed})).status_code == 200
