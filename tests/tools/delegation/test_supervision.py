"""Seeing how far sub-agents are, telling them something, stopping them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from app.core.errors import InvalidArguments, NotFound
from app.toolkit.tool import Tool
from app.tools.delegation.delegate_cancel import delegate_cancel
from app.tools.delegation.delegate_parallel import delegate_parallel
from app.tools.delegation.delegate_status import delegate_status
from app.tools.delegation.delegate_task import delegate_task
from app.tools.delegation.task_broadcast import task_broadcast
from app.tools.delegation.toolset import TOOLS
from tests.tools.calls import call, call_as
from tests.tools.delegation.conftest import House


async def _begin(house: House, session_id: str = "ses_1") -> str:
    tasks = [{"goal": "a"}, {"goal": "b"}]
    ctx = house.ctx(session_id)
    begun = await call(delegate_parallel, ctx, tasks=tasks, background=True)
    return str(begun.data["batch_id"])


async def _finish(house: House, batch_id: str) -> None:
    house.delegation.finish(batch_id, house.delegation.started[-1].specs)


async def test_status_shows_what_there_is_so_far_and_the_answers_in_the_end(house: House):
    batch_id = await _begin(house)
    running = await call(delegate_status, house.ctx(), id=batch_id)
    await _finish(house, batch_id)
    ended = await call(delegate_status, house.ctx(), id=batch_id)

    assert (running.success, running.data["status"]) == (True, "running")
    start = f"{batch_id}: running, 0 of 2 ended\na (tsk_1_1) is running"
    assert str(running.text).startswith(start)
    assert 'Its partial answer:\n<untrusted source="sub-agent a">\nSo far' in str(running.text)
    assert [task["response"] for task in ended.data["tasks"]] == ["did: a", "did: b"]
    assert "2 of 2 ended" in str(ended.text)


async def test_status_of_a_task_is_of_that_task(house: House):
    await _begin(house)
    result = await call(delegate_status, house.ctx(), task_id="tsk_1_2")
    assert [task["label"] for task in result.data["tasks"]] == ["b"]


async def test_waiting_is_left_to_the_service(house: House):
    batch_id = await _begin(house)
    await call(delegate_status, house.ctx(), id=batch_id, wait_s=5)
    assert house.delegation.waited == [5]


async def test_without_an_id_the_batches_of_the_session_are_listed(house: House):
    nothing = await call(delegate_status, house.ctx())
    await _begin(house)
    await _begin(house, "ses_2")
    await _begin_other(house)
    listed = await call(delegate_status, house.ctx())
    assert (nothing.text, nothing.data) == (
        "No tasks were delegated in this chat",
        {"delegations": []},
    )
    assert [batch["batch_id"] for batch in listed.data["delegations"]] == ["dlg_3", "dlg_1"]


@pytest.mark.parametrize(
    ("arguments", "reported"),
    [({"wait_s": 5}, "wait_s"), ({"id": "x", "wait_s": 601}, "wait_s"), ({"id": ""}, "id")],
)
async def test_what_cannot_be_waited_for_is_named(
    house: House, arguments: dict[str, Any], reported: str
):
    with pytest.raises(InvalidArguments, match=reported):
        await call(delegate_status, house.ctx(), **arguments)


async def test_cancelling_keeps_what_there_was(house: House):
    batch_id = await _begin(house)
    one = await call(delegate_cancel, house.ctx(), id="tsk_1_1")
    left = await call(delegate_status, house.ctx(), id=batch_id)
    both = await call(delegate_cancel, house.ctx(), id=batch_id)
    again = await call(delegate_cancel, house.ctx(), id=batch_id)

    assert [(task["status"], task["response"]) for task in one.data["tasks"]] == [
        ("cancelled", "So far")
    ]
    assert [task["status"] for task in left.data["tasks"]] == ["cancelled", "running"]
    assert both.data["status"] == again.data["status"] == "cancelled"
    assert again.success


@pytest.mark.parametrize("tool", [delegate_status, delegate_cancel])
@pytest.mark.parametrize("wanted", ["dlg_1", "tsk_1_1", "nothing"])
async def test_what_is_of_another_session_is_not_there(house: House, tool: Tool, wanted: str):
    await _begin(house, "ses_2")
    with pytest.raises(NotFound):
        await call(tool, house.ctx(), id=wanted)
    assert house.delegation.batches["dlg_1"].status == "running"


@pytest.mark.requirement("COL-02")
@pytest.mark.parametrize("name", ["task_broadcast", "TaskBroadcastTool"])
async def test_a_word_reaches_every_one_at_work_once(house: House, name: str):
    await _begin(house)
    await _begin(house, "ses_2")
    await call(delegate_cancel, house.ctx(), id="tsk_1_1")
    await call(delegate_task, house.ctx(), goal="done already")
    await call_as("spawn", delegate_task, house.ctx(), task="c")
    result = await call_as(name, task_broadcast, house.ctx(), message="Stop at noon")

    assert sorted(result.data["task_ids"]) == ["tsk_1_2", "tsk_4_1"]
    assert house.delegation.heard == {"tsk_1_2": ["Stop at noon"], "tsk_4_1": ["Stop at noon"]}


async def test_a_word_to_one_batch_stays_there(house: House):
    await _begin(house)
    batch_id = await _begin_other(house)
    result = await call(task_broadcast, house.ctx(), text="Stop", batch_id=batch_id)
    assert result.data == {"task_ids": ["tsk_2_1"], "total": 1}


async def _begin_other(house: House) -> str:
    begun = await call_as("spawn", delegate_task, house.ctx(), task="c")
    return str(begun.data["batch_id"])


async def test_when_nobody_works_nobody_is_notified(house: House):
    result = await call(task_broadcast, house.ctx(), text="Hello")
    assert (result.data["total"], result.text) == (
        0,
        "No sub-agent is running",
    )


@pytest.mark.parametrize("text", ["", " ", "x" * 4001])
async def test_a_word_must_say_something_short(house: House, text: str):
    with pytest.raises(InvalidArguments, match="text"):
        await call(task_broadcast, house.ctx(), text=text)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        (delegate_status, {}),
        (delegate_status, {"id": "dlg_1"}),
        (delegate_cancel, {"id": "dlg_1"}),
        (task_broadcast, {"text": "x"}),
    ],
)
async def test_a_call_without_a_session_sees_nobodys_sub_agents(
    house: House, tool: Tool, arguments: dict[str, Any]
):
    await _begin(house)
    result = await call(tool, house.ctx(None), **arguments)
    assert result.error == "Sub-agents require a session, but this call has none"
    assert house.delegation.batches["dlg_1"].status == "running"


@pytest.mark.requirement("SUB-14")
def test_what_they_may_do_is_declared():
    declared = {
        tool.name: (tool.permission_class.value, tool.delegates, tool.subagent_allowed)
        for tool in TOOLS
    }
    assert declared == {
        "delegate_task": ("EXTERNAL", True, True),
        "delegate_parallel": ("EXTERNAL", True, True),
        "team_agent": ("EXTERNAL", True, True),
        "task_broadcast": ("WRITE", False, False),
        "delegate_status": ("READ", True, True),
        "delegate_cancel": ("WRITE", False, False),
    }
    assert {tool.route for tool in TOOLS} == {"main-process-proxy"}
    assert {tool.requires for tool in TOOLS} == {("delegation",)}
    assert not any(tool.requires_confirmation or tool.asks for tool in TOOLS)


@pytest.mark.parametrize("arguments", [{"id": "dlg_1"}, {"id": "tsk_1_1", "wait_s": 5}])
async def test_a_sub_agent_sees_what_it_has_started_itself(house: House, arguments: dict[str, Any]):
    batch_id = await _begin(house)
    own = replace(house.ctx(), run_id="run_2", subagent_id="tsk_9")
    with pytest.raises(NotFound):
        await call(delegate_status, own, **arguments)
    listed = await call(delegate_status, own)
    assert (batch_id, listed.data["delegations"], house.delegation.waited) == ("dlg_1", [], [])
    begun = await call(delegate_task, own, goal="mine", background=True)
    listed = await call(delegate_status, own)
    mine = [batch["batch_id"] for batch in listed.data["delegations"]]
    assert mine == [begun.data["batch_id"]]
    shown = await call(delegate_status, own, id=mine[0])
    assert shown.data["status"] == "running"
