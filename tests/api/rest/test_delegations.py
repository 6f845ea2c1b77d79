"""Delegated work over REST: who sees it, who stops it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

from app.domain.delegation import DELEGATION, TaskSpec
from app.toolkit.context import ToolContext
from tests.api.people import holding, user
from tests.api.rest.client import problem
from tests.support.service import Running, serving, settings_for
from tests.tools.delegation.scripted import ScriptedDelegation, failing

OWNER = "operator-secret-0123456789"
SECRET = "ghp_" + "a1B2" * 9


@dataclass
class Place:
    """A service with sub-agents in memory, a session of ann, and who looks at it."""

    running: Running
    delegation: ScriptedDelegation
    session_id: str
    ann: httpx2.AsyncClient
    bob: httpx2.AsyncClient
    admin: httpx2.AsyncClient

    async def begin(self, *labels: str, background: bool = True, **place: Any) -> str:
        """A batch in the session; its id."""
        specs = [TaskSpec(goal=f"do {label}", label=label) for label in labels]
        ctx = ToolContext("call_1", "op_1", session_id=place.get("session_id", self.session_id))
        batch = await self.delegation.start(specs, ctx, kind="parallel", background=background)
        return batch.batch_id


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    settings = settings_for(tmp_path, anthropic_api_key=None, token=OWNER)
    async with serving(settings) as running, AsyncExitStack() as stack:
        delegation = ScriptedDelegation()
        running.service.services.register(DELEGATION, delegation)
        yield Place(
            running,
            delegation,
            running.session(user_id="ann").id,
            await stack.enter_async_context(user(running, "ann")),
            await stack.enter_async_context(user(running, "bob")),
            await stack.enter_async_context(holding(running, OWNER)),
        )


async def test_a_batch_is_shown_with_what_its_sub_agents_did(place: Place):
    batch_id = await place.begin("a", "b", background=False)
    batch = (await place.ann.get(f"/delegations/{batch_id}")).json()
    task = (await place.ann.get("/delegations/tsk_1_2")).json()

    assert {name: batch[name] for name in ("kind", "status", "session_id", "background")} == {
        "kind": "parallel",
        "status": "success",
        "session_id": place.session_id,
        "background": False,
    }
    assert [(item["label"], item["response"]) for item in batch["tasks"]] == [
        ("a", "did: do a"),
        ("b", "did: do b"),
    ]
    assert task == {**batch, "tasks": [batch["tasks"][1]]}
    assert task["tasks"][0]["routes"]["write_file"] == "main-process-proxy"


async def test_what_failed_says_why_and_keeps_what_it_had(place: Place):
    place.delegation.script = lambda *_: failing("gone", said="Half")
    batch_id = await place.begin("a", background=False)
    batch = (await place.ann.get(f"/delegations/{batch_id}")).json()
    (task,) = batch["tasks"]
    assert batch["status"] == "error"
    assert (task["response"], task["partial"]) == ("Half", True)
    assert task["error"] == {"code": "model_failed", "message": "gone"}


async def test_the_list_of_a_session_is_paged_from_the_newest_on(place: Place):
    ids = [await place.begin(label) for label in "abc"]
    await place.begin("x", session_id="ses_other")
    path = f"/sessions/{place.session_id}/delegations"
    first = (await place.ann.get(path, params={"limit": 2})).json()
    rest = {"limit": 2, "before": first["next_before"]}
    second = (await place.ann.get(path, params=rest)).json()

    listed = [batch["batch_id"] for page in (first, second) for batch in page["delegations"]]
    assert listed == ids[::-1]
    assert (first["next_before"], second["next_before"]) == (ids[1], None)
    assert first["delegations"][0]["tasks"] == [
        {
            "task_id": "tsk_3_1",
            "label": "c",
            "status": "running",
            "rounds": 0,
            "run_id": "run_3_1",
        }
    ]


async def test_the_list_can_hold_only_what_is_under_way(place: Place):
    await place.begin("a", background=False)
    open_id = await place.begin("b")
    path = f"/sessions/{place.session_id}/delegations"
    page = (await place.ann.get(path, params={"running": True})).json()
    assert [batch["batch_id"] for batch in page["delegations"]] == [open_id]


async def test_a_place_in_the_list_that_is_not_there_is_named(place: Place):
    path = f"/sessions/{place.session_id}/delegations"
    reported = await problem(await place.ann.get(path, params={"before": "dlg_none"}))
    assert (reported["status"], reported["details"]["field"]) == (422, "query.before")


async def test_cancelling_stops_and_is_harmless_afterwards(place: Place):
    batch_id = await place.begin("a", "b")
    one = (await place.ann.post("/delegations/tsk_1_1/cancel")).json()
    assert [task["status"] for task in one["tasks"]] == ["cancelled"]
    for _ in range(2):
        answer = await place.ann.post(f"/delegations/{batch_id}/cancel")
        batch = answer.json()
        assert (answer.status_code, batch["status"]) == (200, "cancelled")
    assert [task["response"] for task in batch["tasks"]] == ["So far", "So far"]


async def test_a_word_reaches_the_sub_agents_of_the_session(place: Place):
    await place.begin("a", "b")
    await place.begin("x", session_id="ses_other")
    path = f"/sessions/{place.session_id}/delegations/broadcast"
    sent = await place.ann.post(path, json={"text": "Noon"})
    none = await place.ann.post(path, json={"text": "Noon", "batch_id": "dlg_2"})
    assert sent.json() == {"task_ids": ["tsk_1_1", "tsk_1_2"]}
    assert none.json() == {"task_ids": []}
    assert place.delegation.heard == {"tsk_1_1": ["Noon"], "tsk_1_2": ["Noon"]}


@pytest.mark.parametrize("body", [{}, {"text": " "}, {"text": "x" * 4001}, {"text": "x", "to": 1}])
async def test_a_word_that_does_not_fit_is_refused(place: Place, body: dict[str, Any]):
    await place.begin("a")
    path = f"/sessions/{place.session_id}/delegations/broadcast"
    reported = await problem(await place.ann.post(path, json=body))
    assert reported["status"] == 422
    assert place.delegation.heard == {}


async def test_others_cannot_tell_that_it_is_there(place: Place):
    batch_id = await place.begin("a")
    session = f"/sessions/{place.session_id}/delegations"
    for method, path, body in (
        ("GET", f"/delegations/{batch_id}", None),
        ("GET", "/delegations/tsk_1_1", None),
        ("POST", f"/delegations/{batch_id}/cancel", None),
        ("POST", "/delegations/tsk_1_1/cancel", None),
        ("GET", session, None),
        ("POST", f"{session}/broadcast", {"text": "x"}),
    ):
        theirs = await problem(await place.bob.request(method, path, json=body))
        nothing = path.replace(batch_id, "dlg_x").replace("tsk_1_1", "tsk_x")
        nothing = nothing.replace(place.session_id, "ses_x")
        missing = await problem(await place.bob.request(method, nothing, json=body))
        assert theirs["status"] == missing["status"] == 404
        assert theirs["title"] == missing["title"]
        assert theirs["details"].keys() == missing["details"].keys()
    assert place.delegation.batches[batch_id].status == "running"
    assert place.delegation.heard == {}


async def test_an_administrator_sees_everything_that_is_under_way(place: Place):
    await place.begin("a", background=False)
    first = await place.begin("b")
    second = await place.begin("c", session_id="ses_other")
    running = (await place.admin.get("/admin/delegations")).json()
    everything = (await place.admin.get("/admin/delegations", params={"running": False})).json()
    refused = await problem(await place.ann.get("/admin/delegations"))

    assert [batch["batch_id"] for batch in running["delegations"]] == [second, first]
    assert len(everything["delegations"]) == 3
    assert refused["status"] == 403
    stopped = await place.admin.post(f"/delegations/{first}/cancel")
    assert stopped.json()["status"] == "cancelled"


async def test_secrets_are_masked(place: Place):
    place.delegation.script = lambda spec, _: failing(f"bad {spec.goal}", said=spec.goal)
    batch_id = await place.begin(SECRET, background=False)
    one = await place.ann.get(f"/delegations/{batch_id}")
    page = await place.ann.get(f"/sessions/{place.session_id}/delegations")
    everything = await place.admin.get("/admin/delegations", params={"running": False})
    for answer in (one, page, everything):
        assert answer.status_code == 200
        assert SECRET not in answer.text


async def test_over_a_websocket_delegated_work_is_stopped_too(place: Place):
    batch_id = await place.begin("a", "b")
    async with place.running.connect(hello={"auth": {"token": OWNER}}) as chat:

        async def cancel(target_id: str, session_id: str = place.session_id) -> dict[str, Any]:
            return await chat.command(
                type="cancel", session_id=session_id, target="delegation", target_id=target_id
            )

        task = await cancel("tsk_1_1")
        batch = await cancel(batch_id)
        again = await cancel(batch_id)
        other = place.running.session(user_id="ann").id
        elsewhere = await cancel(batch_id, other)

    assert [answer["result"] for answer in (task, batch, again)] == [
        {},
        {},
        {"already_finished": True},
    ]
    assert place.delegation.batches[batch_id].status == "cancelled"
    assert (elsewhere["type"], elsewhere["error"]["code"]) == ("error", "not_found")


async def test_where_nobody_delegates_it_says_so(place: Place):
    place.running.service.services.register(DELEGATION, None)
    reported = await problem(await place.ann.get(f"/sessions/{place.session_id}/delegations"))
    assert (reported["code"], reported["detail"]) == ("tool_failed", "delegation not available")
