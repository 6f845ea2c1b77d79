"""Skills over REST."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.api.rest.client import problem

TEXT = "---\nname: fresh\ndescription: Does it.\n---\nBody\n"
ID = "project:{}:fresh"


@pytest.fixture
async def project(client: httpx2.AsyncClient, tmp_path_factory: pytest.TempPathFactory) -> str:
    root = tmp_path_factory.mktemp("site")
    made = root / ".tollgate/skills/fresh/SKILL.md"
    made.parent.mkdir(parents=True)
    made.write_text(TEXT, encoding="utf-8")
    answer = await client.post("/admin/projects", json={"name": "Site", "root": str(root)})
    return str(answer.json()["id"])


async def root_of(client: httpx2.AsyncClient, project: str) -> Path:
    return Path((await client.get(f"/admin/projects/{project}")).json()["root"])


async def listed(client: httpx2.AsyncClient, **params: Any) -> dict[str, Any]:
    found = (await client.get("/admin/skills", params=params)).json()["skills"]
    return {item["id"]: item for item in found}


@pytest.mark.requirement("D-16")
async def test_skills_are_listed_with_what_keeps_an_agent_from_them(
    client: httpx2.AsyncClient, project: str
):
    assert set(await listed(client)) == {"builtin:image-statistics"}
    rows = await listed(client, project_id=project)
    fresh = rows[ID.format(project)]
    assert (fresh["status"], "no operator has enabled it" in fresh["reason"]) == ("untrusted", True)
    assert fresh["reason_code"] == "skill_not_enabled"
    await client.post("/admin/agents", json={"id": "narrow", "skills": []})
    rows = await listed(client, project_id=project, agent_id="narrow")
    assert rows["builtin:image-statistics"]["status"] == "filtered"
    page = await client.get("/admin/skills", params={"project_id": project, "limit": 1})
    assert (page.json()["total"], page.json()["next_after"]) == (2, 1)
    rest = await client.get("/admin/skills", params={"project_id": project, "after": 1})
    assert (len(rest.json()["skills"]), rest.json()["next_after"]) == (1, None)


@pytest.mark.requirement("D-17")
async def test_an_agents_list_of_skills_is_changed(client: httpx2.AsyncClient):
    await client.post("/admin/agents", json={"id": "narrow", "skills": []})
    path = "/admin/agents/narrow"
    changed = await client.patch(path, json={"skills": ["image-statistics"]})
    assert changed.json()["profile"]["skills"] == ["image-statistics"]
    rows = await listed(client, agent_id="narrow")
    assert rows["builtin:image-statistics"]["status"] == "visible"
    bad = await client.patch(path, json={"skills": ["No Name"]})
    assert bad.status_code == 422


async def test_a_version_is_enabled_and_the_skill_disabled(
    client: httpx2.AsyncClient, project: str
):
    path = f"/admin/skills/{ID.format(project)}"
    seen = await client.get(path)
    assert (seen.headers["etag"], seen.json()["body"]) == ('"0"', "Body\n")
    assert seen.json()["files"] == [{"path": "SKILL.md", "size": len(TEXT), "is_executable": False}]
    body = {"enabled": True, "digest": seen.json()["digest"]}
    enabled = await client.patch(path, json=body, headers={"If-Match": '"0"'})
    assert (enabled.json()["status"], enabled.headers["etag"]) == ("visible", '"1"')
    late = await client.patch(path, json={"enabled": False}, headers={"If-Match": '"0"'})
    assert late.status_code == 412
    disabled = await client.patch(path, json={"enabled": False}, headers={"If-Match": '"1"'})
    assert disabled.json()["status"] == "disabled"
    rows = (await client.get("/admin/audit", params={"kind": "governance.skill"})).json()
    assert len(rows["rows"]) == 2


async def test_another_version_than_the_one_looked_at_is_not_enabled(
    client: httpx2.AsyncClient, project: str
):
    path = f"/admin/skills/{ID.format(project)}"
    digest = (await client.get(path)).json()["digest"]
    file = await root_of(client, project) / ".tollgate/skills/fresh/SKILL.md"
    file.write_text(TEXT + "more\n", encoding="utf-8")
    answer = await client.patch(path, json={"enabled": True, "digest": digest})
    assert (answer.status_code, (await problem(answer))["code"]) == (409, "digest_mismatch")
    file.write_text("broken", encoding="utf-8")
    answer = await client.patch(path, json={"enabled": True})
    assert (answer.status_code, (await problem(answer))["code"]) == (409, "conflict")


@pytest.mark.parametrize(
    "path",
    [
        "/admin/skills/user:none",
        "/admin/skills/project:none:x",
        "/admin/skills/x",
        "/admin/skills/builtin:..",
        "/admin/skills?project_id=none",
        "/admin/skills?agent_id=none",
    ],
)
async def test_what_is_not_there_is_not_found(client: httpx2.AsyncClient, path: str):
    answer = await client.get(path)
    assert (answer.status_code, (await problem(answer))["code"]) == (404, "not_found")
