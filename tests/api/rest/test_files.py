"""Sending a file into the workspace of a session."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from app.config.settings import Settings
from tests.api.rest.client import call, new_session, problem
from tests.support.http import HttpClient
from tests.support.service import Running, settings_for
from tests.support.service import serving as serve

ZIP = b"PK\x03\x04\x00\x00\xff\xfe not text"
BYTES = {"content-type": "application/octet-stream"}


class Desk:
    """A session of the default workspace, and how files get into it."""

    def __init__(self, client: httpx2.AsyncClient, session_id: str, root: Path) -> None:
        self.client = client
        self.session_id = session_id
        self.root = root

    async def send(self, name: str, data: bytes = ZIP, **query: Any) -> httpx2.Response:
        path = f"/sessions/{self.session_id}/files"
        return await self.client.post(
            path, params={"name": name, **query}, content=data, headers=BYTES
        )

    def names(self) -> list[str]:
        """Everything below the workspace, also what would be hidden."""
        return sorted(str(path.relative_to(self.root)) for path in self.root.rglob("*"))


async def desk_of(running: Running, client: httpx2.AsyncClient) -> Desk:
    root = Path(running.service.projects.get("default").root)
    return Desk(client, await new_session(client), root)


@pytest.fixture
async def desk(client: httpx2.AsyncClient, serving: Running) -> Desk:
    return await desk_of(serving, client)


async def test_a_file_comes_whole_into_the_workspace_where_tools_read_it(desk: Desk):
    answer = await desk.send("报告 1.zip")

    digest = hashlib.sha256(ZIP).hexdigest()
    assert answer.json() == {
        "path": "uploads/报告 1.zip",
        "size": len(ZIP),
        "sha256": digest,
        "change": "created",
    }
    assert (desk.root / "uploads/报告 1.zip").read_bytes() == ZIP
    assert desk.names() == ["uploads", "uploads/报告 1.zip"]
    found = await call(
        desk.client,
        "file_exists",
        arguments={"path": "uploads/报告 1.zip"},
        session_id=desk.session_id,
    )
    assert (found["status"], '"exists":true' in found["text"]) == ("success", True)


async def test_the_same_file_again_changes_nothing_and_another_is_refused_unless_asked(desk: Desk):
    await desk.send("a.bin", b"\x00one")

    again = await desk.send("a.bin", b"\x00one")
    reported = await problem(await desk.send("a.bin", b"\x00two"))

    assert again.json()["change"] == "unchanged"
    assert (reported["status"], reported["code"]) == (409, "already_exists")
    assert reported["details"] == {"path": "uploads/a.bin"}
    assert (desk.root / "uploads/a.bin").read_bytes() == b"\x00one"
    asked = await desk.send("a.bin", b"\x00two", overwrite="true")
    assert asked.json()["change"] == "replaced"
    assert (desk.root / "uploads/a.bin").read_bytes() == b"\x00two"


async def test_of_two_at_once_under_one_name_one_is_there_and_one_is_reported(desk: Desk):
    answers = await asyncio.gather(desk.send("x", b"\x00a"), desk.send("x", b"\x00b"))

    assert sorted(answer.status_code for answer in answers) == [200, 409]
    (won,) = [answer.json()["sha256"] for answer in answers if answer.status_code == 200]
    assert hashlib.sha256((desk.root / "uploads/x").read_bytes()).hexdigest() == won


@pytest.mark.parametrize(
    "name",
    [
        *("../a", "a/b", "/etc/passwd", "..", ".", "a\\b"),
        *("a\x00b", "a\nb", "a\u202eb", "n" * 201, "文" * 67),
    ],
)
async def test_a_name_that_is_none_of_one_file_is_refused_by_its_field(desk: Desk, name: str):
    reported = await problem(await desk.send(name))

    assert (reported["status"], reported["code"]) == (422, "validation_failed")
    assert reported["details"]["errors"][0]["path"] == "query.name"
    assert desk.names() == []


async def test_a_folder_that_leads_out_of_the_workspace_is_not_written_to(
    desk: Desk, tmp_path_factory: pytest.TempPathFactory
):
    outside = tmp_path_factory.mktemp("outside")
    (desk.root / "uploads").symlink_to(outside)

    reported = await problem(await desk.send("a.zip"))

    assert (reported["status"], reported["code"]) == (422, "outside_workspace")
    assert list(outside.iterdir()) == []


async def test_a_link_of_that_name_is_not_written_through(desk: Desk, tmp_path: Path):
    secret = tmp_path / "secret"
    secret.write_text("kept")
    (desk.root / "uploads").mkdir()
    (desk.root / "uploads/a.zip").symlink_to(secret)

    answer = await desk.send("a.zip", overwrite="true")

    assert answer.status_code == 422
    assert secret.read_text() == "kept"


async def test_a_session_without_a_workspace_takes_no_files(client: httpx2.AsyncClient, desk: Desk):
    desk.session_id = await new_session(client, project_id=None)

    reported = await problem(await desk.send("a.zip"))

    assert (reported["status"], reported["code"]) == (422, "project_required")
    assert desk.names() == []


async def test_only_bytes_are_taken(desk: Desk):
    path = f"/sessions/{desk.session_id}/files"

    reported = await problem(
        await desk.client.post(path, params={"name": "a"}, files={"file": ("a", ZIP)})
    )

    assert (reported["status"], reported["code"]) == (415, "unsupported_media_type")
    assert desk.names() == []


async def test_an_upload_is_audited_and_can_be_taken_back(desk: Desk, serving: Running):
    await desk.send("a.zip", b"\x00old")
    await desk.send("a.zip", b"\x00new", overwrite="true")

    rows = (await desk.client.get("/admin/audit", params={"kind": "file.uploaded"})).json()["rows"]
    assert [(row["subject"], row["session_id"]) for row in rows] == [
        ("uploads/a.zip", desk.session_id)
    ] * 2
    path = f"/sessions/{desk.session_id}/checkpoints"
    last = (await desk.client.get(path)).json()["checkpoints"][0]
    assert [file["change"] for file in last["files"]] == ["modified"]
    assert (await desk.client.post(f"{path}/{last['run_id']}/restore", json={})).status_code == 200
    assert (desk.root / "uploads/a.zip").read_bytes() == b"\x00old"


def small(tmp_path: Path, limit: int) -> Settings:
    return settings_for(tmp_path, max_upload_bytes=limit)


async def pieces(data: bytes) -> AsyncIterator[bytes]:
    """Sent without a length."""
    for start in range(0, len(data), 1000):
        yield data[start : start + 1000]


@pytest.mark.parametrize("length", ["announced", "unknown"])
async def test_what_is_too_large_is_refused_and_leaves_nothing(tmp_path: Path, length: str):
    async with (
        serve(small(tmp_path, 5000)) as running,
        HttpClient(base_url=running.api) as client,
    ):
        desk = await desk_of(running, client)
        path = f"/sessions/{desk.session_id}/files"
        data = b"\x00" * 5001
        content = data if length == "announced" else pieces(data)

        reported = await problem(
            await client.post(path, params={"name": "a"}, content=content, headers=BYTES)
        )

        assert (reported["status"], reported["code"]) == (413, "too_large")
        assert desk.names() == []
        assert (await desk.send("a", data[:5000])).status_code == 200


async def test_a_file_may_be_larger_than_other_bodies(desk: Desk):
    data = b"\x00" * ((8 << 20) + 1)

    assert (await desk.send("large", data)).json()["size"] == len(data)


async def test_uploads_can_be_switched_off(tmp_path: Path):
    async with (
        serve(small(tmp_path, 0)) as running,
        HttpClient(base_url=running.api) as client,
    ):
        desk = await desk_of(running, client)

        reported = await problem(await desk.send("a"))

        assert (reported["status"], reported["code"]) == (403, "forbidden")
        assert "TOLLGATE_MAX_UPLOAD_BYTES" in reported["detail"]
        assert (await client.get("/me")).json()["max_upload_bytes"] == 0
