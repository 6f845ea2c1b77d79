"""File tools stay in their workspace, unless an operator lets them out."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import httpx2
import pytest

from app.config.sections import SandboxSettings
from scripts.parts import SANDBOX
from tests.api.rest.client import call, new_session, problem
from tests.support.binaries import lacks
from tests.support.http import HttpClient
from tests.support.service import serving, settings_for

_OWN = [Path(name).absolute() for name in (".env", "config.yml", "app/main.py")]
_FREE = SandboxSettings(warm_workers=0, restrict_to_workspace=False)


@pytest.fixture
def outside(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("outside")
    (folder / "a.txt").write_text("from outside\n")
    return folder


async def read(client: httpx2.AsyncClient, path: str, **body: Any) -> dict[str, Any]:
    return await call(client, "read_file", arguments={"path": path}, **body)


@pytest.mark.requirement("CTX-09")
async def test_nothing_outside_is_reached_by_default(client: httpx2.AsyncClient, outside: Path):
    for path in (f"{outside}/a.txt", f"../../../{outside.name}/a.txt"):
        reported = await read(client, path)
        assert (reported["status"], reported["code"]) == ("error", "outside_workspace"), path


@pytest.mark.requirement("CTX-09")
async def test_an_operator_may_let_the_default_project_out(tmp_path: Path, outside: Path):
    async with (
        serving(settings_for(tmp_path, sandbox=_FREE)) as running,
        HttpClient(base_url=running.api) as client,
    ):
        reported = await read(client, f"{outside}/a.txt")
        assert "from outside" in reported["text"]
        written = {"path": f"{outside}/b.txt", "content": "new\n"}
        assert (await call(client, "write_file", arguments=written))["status"] == "success"
        listed = await call(client, "list_dir", arguments={"path": str(outside)})
        assert "b.txt" in listed["text"]
        inside = {"path": "c.txt", "content": "here\n"}
        assert (await call(client, "write_file", arguments=inside))["status"] == "success"
        workspace = running.service.settings.workspace_dir
        assert (workspace / "c.txt").read_text() == "here\n"
        assert "here" in (await read(client, f"{workspace}/c.txt"))["text"]
    assert (outside / "b.txt").read_text() == "new\n"


async def test_the_services_own_files_are_reached_by_nobody(tmp_path: Path, outside: Path):
    (outside / "link").symlink_to("/proc/self/environ")
    settings = settings_for(tmp_path, sandbox=_FREE)
    async with serving(settings) as running, HttpClient(base_url=running.api) as client:
        paths = (
            str(settings.database_path),
            "/proc/self/environ",
            f"/proc/{os.getpid()}/maps",
            f"{outside}/link",
            f"{outside}/{'../' * 40}proc/self/environ",
        )
        for path in paths:
            refused = await read(client, path)
            assert refused["status"] == "error", path
            assert "belongs to the service or the system" in refused["text"], path
        for own in (settings.plugins_dir / "mine.py", *_OWN):
            before = own.read_bytes() if own.exists() else None
            wanted = {"path": str(own), "content": "x"}
            reported = await call(client, "write_file", arguments=wanted)
            assert reported["status"] != "success", own
            assert (own.read_bytes() if own.exists() else None) == before


async def test_a_search_passes_over_the_services_own_files(
    tmp_path: Path, outside: Path, monkeypatch: pytest.MonkeyPatch
):
    for name in (".env", "config.yml"):
        (outside / name).write_text("# from outside, too\n")
    monkeypatch.chdir(outside)
    async with (
        serving(settings_for(tmp_path, sandbox=_FREE)) as running,
        HttpClient(base_url=running.api) as client,
    ):
        for pattern in ("from outside", "from outsid[e]"):
            arguments = {"pattern": pattern, "path": str(outside), "output_mode": "content"}
            reported = await call(client, "grep", arguments=arguments)
            assert "a.txt" in reported["text"]
            assert "too" not in reported["text"]


async def test_commands_stay_in_the_workspace(tmp_path: Path, outside: Path):
    settings = settings_for(tmp_path, sandbox=_FREE)
    async with serving(settings) as running, HttpClient(base_url=running.api) as client:
        if not running.service.workspaces.status.levels["bash"].available:
            lacks(SANDBOX)
        command = f"cat {outside}/a.txt; ls"
        reported = await call(client, "bash", arguments={"command": command})
        assert "from outside" not in str(reported)


@pytest.mark.requirement("CTX-09")
async def test_an_administrator_lets_one_project_out_and_nobody_else_can(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, outside: Path
):
    root = tmp_path_factory.mktemp("site")
    async with (
        serving(settings_for(tmp_path, token="the-admin-token")) as running,
        HttpClient(
            base_url=running.api, headers={"Authorization": "Bearer the-admin-token"}
        ) as admin,
    ):
        secret, _ = await running.service.tokens.create("ann", ("chat", "tools:call", "approve"))
        made = (
            await admin.post("/admin/projects", json={"name": "Site", "root": str(root)})
        ).json()
        assert made["restrict_to_workspace"] is True
        path = f"/admin/projects/{made['id']}"
        headers = {"Authorization": f"Bearer {secret}"}
        async with HttpClient(base_url=running.api, headers=headers) as ann:
            refused = await ann.patch(path, json={"restrict_to_workspace": False})
            assert (await problem(refused))["code"] == "forbidden"
            reported = await problem(
                await ann.post("/sessions", json={"restrict_to_workspace": False})
            )
            assert reported["code"] == "validation_failed"
            session_id = await new_session(ann, project_id=made["id"])
            kept_in = await read(ann, f"{outside}/a.txt", session_id=session_id)
            changed = await admin.patch(path, json={"restrict_to_workspace": False})
            let_out = await read(ann, f"{outside}/a.txt", session_id=session_id)
        audit = (await admin.get("/admin/audit?limit=50")).json()

    assert kept_in["code"] == "outside_workspace"
    assert changed.json()["restrict_to_workspace"] is False
    assert "from outside" in let_out["text"]
    assert "restrict_to_workspace" in str(audit)
