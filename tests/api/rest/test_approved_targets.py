"""A deletion that is approved over REST deletes what was shown, or is asked about again."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.execution.calls import CallRequest
from tests.api.people import user
from tests.api.rest.client import new_session
from tests.execution.lab import Watcher
from tests.support.service import Running


@pytest.mark.parametrize("added", [False, True])
async def test_an_approval_after_a_file_was_added_asks_again(
    serving: Running, *, added: bool
) -> None:
    async with user(serving, "ann") as ann:
        session = await serving.service.sessions.get(await new_session(ann))
        assert session is not None
        folder = Path(serving.service.projects.get("default").root) / "out"
        folder.mkdir()
        (folder / "seen.txt").write_text("seen", encoding="utf-8")
        watcher = Watcher()
        session.log.subscribers.add(watcher)
        await serving.service.runs.call_tools(
            session,
            [CallRequest("c1", "bash", {"command": "rm -rf out"})],
            caller="websocket",
            cacheable=False,
        )
        question = await watcher.until("tool_confirmation_request")
        answer = {"option_id": "approve_once", "digest": question["digest"]}
        if added:
            (folder / "new.txt").write_text("not seen", encoding="utf-8")
        path = f"/confirmations/{question['confirmation_id']}"
        assert (await ann.post(path, json=answer)).json()["outcome"] == "approved"
        if added:
            again = await watcher.until("tool_confirmation_request", count=2)
            assert (folder / "seen.txt").exists()
            stored = (await ann.get(f"/confirmations/{again['confirmation_id']}")).json()
            assert "new: out/new.txt" in stored["request"]["asked_again"]
            answer["digest"] = again["digest"]
            path = f"/confirmations/{again['confirmation_id']}"
            assert (await ann.post(path, json=answer)).json()["outcome"] == "approved"
        done = await watcher.until("tool_call_completed")

        assert done["status"] == "success"
        assert not folder.exists()
        assert len(watcher.of("tool_confirmation_request")) == (2 if added else 1)
