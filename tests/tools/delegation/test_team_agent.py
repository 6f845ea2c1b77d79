"""Teams: who works after whom, the review, and how it went as a whole."""

from __future__ import annotations

from typing import Any

import pytest

from app.core.errors import InvalidArguments, InvalidInput
from app.domain.delegation import TaskSpec
from app.tools.delegation.team_agent import team_agent
from tests.tools.calls import call, call_as
from tests.tools.delegation.conftest import House
from tests.tools.delegation.scripted import Outcome, failing

MEMBERS = [
    {"name": "Ann", "role": "You read code.", "tools": ["read_file"]},
    {"name": "Bob", "role": "You write texts.", "agent": "writer"},
]
READ = {"name": "read", "member": "Ann", "instruction": "Read it"}
WRITE = {"name": "write", "member": "Bob", "instruction": "Write it"}


def _team(**changes: Any) -> dict[str, Any]:
    return {"name": "crew", "members": MEMBERS, "tasks": [READ, WRITE], **changes}


def _after(house: House) -> dict[str, tuple[str, ...]]:
    (started,) = house.delegation.started
    return {spec.label: spec.after for spec in started.specs}


@pytest.mark.requirement("COL-01", "SUB-14")
@pytest.mark.parametrize("name", ["team_agent", "TeamAgentTool"])
async def test_a_team_of_two_does_both_tasks(house: House, name: str):
    result = await call_as(name, team_agent, house.ctx(), **_team())

    assert result.success
    assert (result.data["status"], result.data["name"], result.data["kind"]) == (
        "success",
        "crew",
        "team",
    )
    assert [task["response"] for task in result.data["tasks"]] == ["did: Read it", "did: Write it"]
    (started,) = house.delegation.started
    assert list(started.specs) == [
        TaskSpec(
            goal="Read it",
            label="read",
            instructions=("You are 'Ann', a member of the team 'crew'. Your role: You read code."),
            tools=("read_file",),
        ),
        TaskSpec(
            goal="Write it",
            label="write",
            instructions=(
                "You are 'Bob', a member of the team 'crew'. Your role: You write texts."
            ),
            agent_id="writer",
        ),
    ]


@pytest.mark.requirement("COL-01")
async def test_the_status_of_the_whole_tells_how_all_went(house: House):
    house.delegation.script = lambda spec, _: (
        failing("torn") if spec.label == "read" else Outcome("fine")
    )
    half = await call(team_agent, house.ctx(), **_team())
    house.delegation.script = lambda *_: failing("torn")
    none = await call(team_agent, house.ctx(), **_team())
    assert (half.success, half.data["status"]) == (True, "partial")
    assert (none.success, none.code, none.data["status"]) == (False, "subagents_failed", "error")


async def test_in_a_pipeline_each_waits_for_the_one_before(house: House):
    third = {"name": "third", "member": "Ann", "instruction": "Check"}
    await call(team_agent, house.ctx(), **_team(tasks=[READ, WRITE, third], mode="pipeline"))
    assert _after(house) == {"read": (), "write": ("read",), "third": ("write",)}


async def test_a_graph_waits_for_what_it_names(house: House):
    seen: dict[str, Any] = {}

    def script(spec: TaskSpec, answers: Any) -> Outcome:
        seen[spec.label] = dict(answers)
        return Outcome(f"answer of {spec.label}")

    house.delegation.script = script
    await call(team_agent, house.ctx(), **_team(tasks=[{**WRITE, "after": ["read"]}, READ]))
    assert _after(house) == {"write": ("read",), "read": ()}
    assert seen == {"read": {}, "write": {"read": "answer of read"}}


async def test_in_parallel_nobody_waits(house: House):
    await call(team_agent, house.ctx(), **_team(mode="parallel"))
    assert _after(house) == {"read": (), "write": ()}


async def test_after_a_failure_those_that_need_it_are_skipped(house: House):
    house.delegation.script = lambda *_: failing("torn")
    result = await call(team_agent, house.ctx(), **_team(mode="pipeline"))
    assert [task["status"] for task in result.data["tasks"]] == ["error", "skipped"]
    assert "write (tsk_1_2) was skipped" in str(result.text)


async def test_the_reviewer_sees_every_answer_last(house: House):
    reviewed: dict[str, str] = {}

    def script(spec: TaskSpec, answers: Any) -> Outcome:
        if spec.label == "review":
            reviewed.update(answers)
            return Outcome("I approve of both.")
        return Outcome(f"answer of {spec.label}")

    house.delegation.script = script
    result = await call(team_agent, house.ctx(), **_team(review="Bob", mode="pipeline"))
    assert reviewed == {"read": "answer of read", "write": "answer of write"}
    last = result.data["tasks"][-1]
    assert (last["label"], last["response"]) == ("review", "I approve of both.")
    assert house.delegation.started[0].specs[-1].agent_id == "writer"


async def test_a_team_goes_on_in_the_background(house: House):
    result = await call(team_agent, house.ctx(), **_team(background=True))
    assert (result.success, result.data["status"]) == (True, "running")


@pytest.mark.parametrize(
    ("changes", "reported"),
    [
        ({"tasks": [{**READ, "member": "Eve"}]}, "tasks[0].member: no member 'Eve'"),
        ({"tasks": [READ, READ]}, "tasks: duplicate name 'read'"),
        ({"members": [MEMBERS[0], MEMBERS[0]]}, "members: duplicate name 'Ann'"),
        ({"review": "Eve"}, "review: no member 'Eve'"),
        (
            {"review": "Ann", "tasks": [{**READ, "name": "review"}]},
            "tasks: the name 'review' is reserved for the review",
        ),
        (
            {"tasks": [READ, {**WRITE, "after": ["red"]}]},
            "tasks[1].after: no other task 'red'",
        ),
        ({"tasks": [{**READ, "after": ["read"]}]}, "tasks[0].after: no other task 'read'"),
        (
            {"tasks": [READ, {**WRITE, "after": ["read"]}], "mode": "parallel"},
            "tasks[1].after: only valid in mode graph",
        ),
        ({"mode": "council"}, "mode"),
        ({"members": []}, "members"),
        ({"tasks": [{**READ, "name": "a\nb"}]}, "tasks[0].name"),
        ({"members": [{"name": "Ann"}]}, "members[0].role"),
    ],
)
async def test_a_team_that_does_not_fit_together_is_refused(
    house: House, changes: dict[str, Any], reported: str
):
    with pytest.raises(InvalidArguments) as caught:
        await call(team_agent, house.ctx(), **_team(**changes))
    assert reported in caught.value.message
    assert house.delegation.started == []


async def test_a_circle_is_refused(house: House):
    tasks = [{**READ, "after": ["write"]}, {**WRITE, "after": ["read"]}]
    with pytest.raises(InvalidInput, match="after"):
        await call(team_agent, house.ctx(), **_team(tasks=tasks))


async def test_tasks_with_a_prompt_alone_are_worked_on_at_once(house: House):
    tasks = [{"prompt": "Read it"}, {"prompt": "Write it", "description": "The text"}]
    result = await call_as("TeamAgentTool", team_agent, house.ctx(), name="crew", tasks=tasks)

    assert result.success
    (started,) = house.delegation.started
    assert [spec.goal for spec in started.specs] == ["Read it", "The text\n\nWrite it"]
    assert [spec.after for spec in started.specs] == [(), ()]


async def test_a_prompt_that_is_none_is_refused_by_its_field(house: House):
    with pytest.raises(InvalidArguments) as refused:
        await call_as("TeamAgentTool", team_agent, house.ctx(), name="crew", tasks=[{"prompt": 5}])
    assert [item["path"] for item in refused.value.details["errors"]] == ["tasks[0].instruction"]
