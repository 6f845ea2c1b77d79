"""What a sub-agent runs with: the model and its limits, rounds and time."""

from __future__ import annotations

from typing import Any

import pytest

from app.config.settings import Settings
from app.governance.agents import AgentProfile, SubagentLimits
from tests.agents.delegation.department import Department, open_department, spec
from tests.support.scripted_anthropic.server import Received
from tests.support.scripted_anthropic.turns import Gate, Turn, text, tool_use


@pytest.mark.requirement("SUB-07", "CTX-03")
@pytest.mark.usefixtures("no_processes")
@pytest.mark.parametrize(
    ("agent", "expected"),
    [
        ({}, ("m-7", 321, 0.25)),
        ({"model": "m-8", "max_tokens": 123, "temperature": 0.5}, ("m-8", 123, 0.5)),
        ({"temperature": 0.0}, ("m-7", 321, 0.0)),
    ],
)
async def test_the_model_and_its_limits_are_the_conversations(
    settings: Settings, agent: dict[str, Any], expected: tuple[Any, ...]
):
    """What the service and the agent are set to reaches the child by the agent's own call."""
    given = {"model": "m-7", "max_tokens": 321, "temperature": 0.25}
    changed = settings.model_copy(update=given)
    async with open_department(changed, agent_id="boss") as department:
        profile = AgentProfile(id="boss", **agent)
        await department.office.runtime.agents.create(profile, actor="ann")
        delegating = tool_use("delegate_task", {"goal": "ask"}, id="d1")
        department.goals.script("please", Turn(delegating), Turn(text("Done.")))
        assert (await department.office.ask("please"))["status"] == "success"
        for goal in ("please", "ask"):
            body = department.goals.asked[goal][0].body
            assert (body["model"], body["max_tokens"], body["temperature"]) == expected


@pytest.mark.requirement("SUB-07", "CTX-03")
async def test_the_model_and_its_limits_are_those_of_the_calls_context(department: Department):
    model = {"model": "m-7", "max_tokens": 321, "temperature": 0.25}
    await department.delegate(spec("ask"), context=department.context(model=model))
    body = department.goals.asked["ask"][0].body
    assert (body["model"], body["max_tokens"], body["temperature"]) == ("m-7", 321, 0.25)


@pytest.mark.requirement("B-18", "SUB-06")
async def test_rounds_end_with_the_settings_and_the_last_one_may_be_without_tools(
    department: Department,
):
    def again(received: Received) -> Turn:
        if received.body.get("tool_choice") == {"type": "none"}:
            return Turn(text("that is all"))
        return Turn(tool_use("read_file", {"path": "a"}))

    department.goals.script("seeds", *[again] * 3)
    department.goals.script("ours", *[again] * 20)
    report = await department.delegate(spec("seeds"), kind="multi_agent")
    assert (report.tasks[0].status, report.tasks[0].rounds) == ("success", 3)
    assert report.tasks[0].response == "that is all"
    report = await department.delegate(spec("ours"))
    assert (report.tasks[0].status, report.tasks[0].rounds) == ("max_rounds", 15)
    report = await department.delegate(spec("ours", max_rounds=2))
    assert (report.tasks[0].status, report.tasks[0].rounds) == ("max_rounds", 2)


@pytest.mark.requirement("D-13")
async def test_what_was_done_when_time_runs_out_is_kept(department: Department):
    # Far longer than the half takes to arrive.
    gate = Gate()
    department.goals.script("slow", Turn(text("half"), gate))
    report = await department.delegate(spec("slow", timeout_s=5))
    task = report.tasks[0]
    assert (task.status, task.response, task.partial) == ("timeout", "half", True)
    assert task.error == {"code": "timeout", "message": "The task did not finish within 5 s"}


@pytest.mark.requirement("D-12")
async def test_nobody_asks_for_more_than_the_operator_allows(settings: Settings):
    changes = {"iterations_max": 4, "task_timeout_max_s": 9}
    limits = settings.sub_agent.model_copy(update=changes)
    changed = settings.model_copy(update={"sub_agent": limits})
    async with open_department(changed) as department:
        department.goals.script("more", *[Turn(tool_use("read_file", {"path": "a"}))] * 9)
        report = await department.delegate(spec("more", max_rounds=9, timeout_s=999))
        assert (report.tasks[0].status, report.tasks[0].rounds) == ("max_rounds", 4)
        await department.office.runtime.agents.create(
            AgentProfile(id="small", subagents=SubagentLimits(max_iterations=2)), actor="ann"
        )
        department.goals.script("few", *[Turn(tool_use("read_file", {"path": "a"}))] * 9)
        context = department.context(agent_id="small")
        report = await department.delegate(spec("few", max_rounds=3), context=context)
        assert (report.tasks[0].status, report.tasks[0].rounds) == ("max_rounds", 2)
