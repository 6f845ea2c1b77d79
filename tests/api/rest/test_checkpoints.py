"""What runs changed in files, listed, compared and taken back over REST and the terminal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx2
import pytest

from app.cli.checkpoints import (
    CheckpointClient,
    list_checkpoints,
    restore_checkpoint,
    show_checkpoint,
)
from app.cli.service_errors import CommandRefused
from app.execution.calls import CallRequest
from tests.api.rest.client import call, new_session, problem
from tests.support.service import Running


class Work:
    """A session that has changed files."""

    def __init__(self, client: httpx2.AsyncClient, session_id: str, root: Path) -> None:
        self.client = client
        self.session_id = session_id
        self.root = root
        self.path = f"/sessions/{session_id}/checkpoints"

    async def write(self, path: str, content: str) -> str:
        """Write through the tool; the run's id."""
        body = {"arguments": {"path": path, "content": content}, "session_id": self.session_id}
        await call(self.client, "write_file", **body)
        return str((await self.listed())[0]["run_id"])

    async def listed(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = (await self.client.get(self.path)).json()["checkpoints"]
        return found

    async def restore(self, run_id: str, **body: Any) -> httpx2.Response:
        return await self.client.post(f"{self.path}/{run_id}/restore", json=body)


@pytest.fixture
async def work(client: httpx2.AsyncClient, serving: Running) -> Work:
    root = Path(serving.service.projects.get("default").root)
    return Work(client, await new_session(client), root)


async def test_a_run_is_listed_compared_and_taken_back(work: Work):
    (work.root / "a.txt").write_text("old\n")
    run_id = await work.write("a.txt", "new\n")

    (run,) = await work.listed()
    compared = (await work.client.get(f"{work.path}/{run_id}")).json()
    restored = (await work.restore(run_id)).json()

    assert (run["run_id"], run["restores"]) == (run_id, None)
    (file,) = run["files"]
    assert (file["path"], file["change"], file["size_before"], file["unkept"]) == (
        "a.txt",
        "modified",
        4,
        "",
    )
    assert compared["files"] == [
        {
            **file,
            "state": "restorable",
            "diff": "--- a/a.txt\n+++ b/a.txt\n@@ -1,1 +1,1 @@\n-old\n+new",
            "added": 1,
            "removed": 1,
        }
    ]
    assert (work.root / "a.txt").read_text() == "old\n"
    assert (restored["restored"], restored["unchanged"], restored["left"]) == (["a.txt"], [], {})
    assert [item["restores"] for item in await work.listed()] == [run_id, None]


async def test_a_later_change_is_a_conflict_until_it_is_forced(work: Work):
    run_id = await work.write("b.txt", "mine\n")
    (work.root / "b.txt").write_text("theirs\n")

    reported = await problem(await work.restore(run_id))
    assert (reported["status"], reported["code"]) == (409, "conflict")
    assert reported["details"] == {"files": ["b.txt"], "count": 1}
    assert (work.root / "b.txt").read_text() == "theirs\n"

    assert (await work.restore(run_id, force=True)).status_code == 200
    assert not (work.root / "b.txt").exists()


async def test_nothing_is_taken_back_while_a_run_is_active(work: Work, serving: Running):
    run_id = await work.write("c.txt", "mine\n")
    session = await serving.service.sessions.get(work.session_id)
    assert session is not None
    risky = CallRequest("risky", "bash", {"command": "rm -rf build"})
    run = await serving.service.runs.call_tools(session, [risky], caller="websocket")

    reported = await problem(await work.restore(run_id))

    assert (reported["status"], reported["code"]) == (409, "busy")
    assert (work.root / "c.txt").read_text() == "mine\n"
    await serving.service.runs.cancel(session.id, run.id)
    await run.done


async def test_the_files_of_a_run_come_in_pages(work: Work):
    lines = [f"*** Add File: p/{number}\n+x" for number in range(5)]
    text = "\n".join(["*** Begin Patch", *lines, "*** End Patch"])
    body = {"arguments": {"patch": text}, "session_id": work.session_id}
    await call(work.client, "patch", **body)
    (run,) = await work.listed()
    seen: list[str] = []
    where: dict[str, str] = {"limit": "2"}
    while True:
        page = await work.client.get(f"{work.path}/{run['run_id']}", params=where)
        seen += [file["path"] for file in page.json()["files"]]
        if page.json()["next_after"] is None:
            break
        where["after"] = page.json()["next_after"]

    assert seen == [f"p/{number}" for number in range(5)]


async def test_unknown_runs_and_files_are_named(work: Work):
    run_id = await work.write("d.txt", "mine\n")

    assert (await problem(await work.restore("run_nothing")))["status"] == 404
    assert (await problem(await work.client.get(f"{work.path}/run_nothing")))["status"] == 404
    reported = await problem(await work.restore(run_id, paths=["other.txt"]))
    assert (reported["status"], reported["code"]) == (422, "validation_failed")


async def test_secrets_in_a_difference_are_masked(work: Work):
    key = "sk-ant-" + "api03-" + "A1b2C3d4" * 11 + "-AA"
    run_id = await work.write("e.txt", f"key = {key}\n")

    compared = (await work.client.get(f"{work.path}/{run_id}")).json()

    assert key not in json.dumps(compared)
    assert compared["files"][0]["diff"].startswith("--- /dev/null\n+++ b/e.txt")


async def test_the_terminal_lists_shows_and_takes_back(
    work: Work, serving: Running, capsys: pytest.CaptureFixture[str]
):
    (work.root / "f.txt").write_text("old\n")
    run_id = await work.write("f.txt", "new\n")
    server = CheckpointClient(serving.url, None)

    assert await list_checkpoints(server, work.session_id, as_json=False) == 0
    listed = capsys.readouterr().out
    assert await show_checkpoint(server, work.session_id, run_id, as_json=False) == 0
    shown = capsys.readouterr().out
    done = await restore_checkpoint(
        server, work.session_id, run_id, paths=["f.txt"], force=False, as_json=False
    )
    reported = capsys.readouterr()

    assert run_id in listed
    assert "    modified  f.txt\n" in listed
    assert shown.splitlines()[0] == "f.txt: modified, can be restored"
    assert "+new" in shown
    assert (done, reported.out) == (0, "restored  f.txt\n")
    assert f"To undo this: tollgate checkpoints restore {work.session_id} undo_" in reported.err
    assert (work.root / "f.txt").read_text() == "old\n"


async def test_the_terminal_prints_json_and_names_what_the_service_refuses(
    work: Work, serving: Running, capsys: pytest.CaptureFixture[str]
):
    run_id = await work.write("g.txt", "new\n")
    server = CheckpointClient(serving.url, None)

    await list_checkpoints(server, work.session_id, as_json=True)
    assert json.loads(capsys.readouterr().out)["checkpoints"][0]["run_id"] == run_id
    await show_checkpoint(server, work.session_id, run_id, as_json=True)
    shown = json.loads(capsys.readouterr().out)["files"]
    assert [file["path"] for file in shown] == ["g.txt"]
    with pytest.raises(CommandRefused, match="changed no files"):
        await restore_checkpoint(
            server, work.session_id, "run_x", paths=[], force=False, as_json=True
        )
    await list_checkpoints(server, await new_session(work.client), as_json=False)
    assert "No run of this session" in capsys.readouterr().err
