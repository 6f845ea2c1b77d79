"""Several tasks at once, under both names."""

from __future__ import annotations

from typing import Any

import pytest

from app.core.errors import InvalidArguments, InvalidInput
from app.domain.delegation import TaskSpec
from app.tools.delegation.delegate_parallel import delegate_parallel
from tests.tools.calls import call, call_as
from tests.tools.delegation.conftest import House
from tests.tools.delegation.scripted import Outcome, echo, failing


def _bad_b(spec: TaskSpec, answers: Any) -> Outcome:
    return failing("no luck") if spec.label == "b" else echo(spec, answers)


@pytest.mark.requirement("SUB-09")
async def test_answers_come_in_the_order_of_the_tasks(house: House):
    tasks = [{"goal": f"part {name}", "label": name} for name in "cab"]
    result = await call(delegate_parallel, house.ctx(), tasks=tasks, concurrency=2)

    assert result.success
    assert [task["label"] for task in result.data["tasks"]] == ["c", "a", "b"]
    text = str(result.text)
    assert text.index("part c") < text.index("part a") < text.index("part b")
    (started,) = house.delegation.started
    assert (started.kind, started.concurrency) == ("parallel", 2)
    assert {spec.last_round_without_tools for spec in started.specs} == {False}


async def test_tasks_without_a_label_get_different_ones(house: House):
    tasks = [{"goal": "Look"}, {"goal": "Look"}, {"goal": "Look", "label": "Look"}]
    await call(delegate_parallel, house.ctx(), tasks=tasks)
    (started,) = house.delegation.started
    assert [spec.label for spec in started.specs] == ["Look (2)", "Look (3)", "Look"]


async def test_each_task_has_limits_of_its_own(house: House):
    tasks = [{"goal": "a", "read_only": True, "max_rounds": 2}, {"goal": "b", "tools": ["grep"]}]
    await call(delegate_parallel, house.ctx(), tasks=tasks)
    (started,) = house.delegation.started
    assert list(started.specs) == [
        TaskSpec(goal="a", label="a", read_only=True, max_rounds=2),
        TaskSpec(goal="b", label="b", tools=("grep",)),
    ]


async def test_one_that_fails_leaves_the_others_their_answers(house: House):
    house.delegation.script = _bad_b
    tasks = [{"goal": name, "label": name} for name in "abc"]
    result = await call(delegate_parallel, house.ctx(), tasks=tasks)

    assert (result.success, result.data["status"]) == (True, "partial")
    assert [task["status"] for task in result.data["tasks"]] == ["success", "error", "success"]
    assert "b (tsk_1_2) failed" in str(result.text)


async def test_when_all_have_failed_the_call_has(house: House):
    house.delegation.script = lambda *_: failing("no luck")
    tasks = [{"goal": name, "label": name} for name in "ab"]
    result = await call(delegate_parallel, house.ctx(), tasks=tasks)
    assert (result.success, result.code) == (False, "subagents_failed")
    assert result.error == ("No sub-agent succeeded: a failed: no luck; b failed: no luck")


async def test_what_was_done_before_somebody_stopped_the_rest_is_returned(house: House):
    house.delegation.script = lambda spec, _: Outcome(
        "x", "cancelled" if spec.label == "b" else "success"
    )
    tasks = [{"goal": name, "label": name} for name in "ab"]
    result = await call(delegate_parallel, house.ctx(), tasks=tasks)
    assert (result.success, result.data["status"]) == (True, "cancelled")
    assert [task["status"] for task in result.data["tasks"]] == ["success", "cancelled"]
    assert "b (tsk_1_2) was cancelled" in str(result.text)


async def test_when_all_were_stopped_the_call_says_so(house: House):
    house.delegation.script = lambda *_: Outcome("half", "cancelled")
    tasks = [{"goal": name, "label": name} for name in "ab"]
    result = await call(delegate_parallel, house.ctx(), tasks=tasks)
    assert (result.success, result.code) == (False, "cancelled")
    assert "half" in str(result.text)


async def test_in_the_background_the_ids_come_at_once(house: House):
    tasks = [{"goal": "a"}, {"goal": "b"}]
    result = await call(delegate_parallel, house.ctx(), tasks=tasks, background=True)
    assert result.data["status"] == "running"
    assert "tsk_1_1 (a), tsk_1_2 (b)" in str(result.text)


@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        ({}, "tasks"),
        ({"tasks": []}, "tasks"),
        ({"tasks": [{"goal": "a"}, {"label": "b"}]}, "tasks[1].goal"),
        ({"tasks": [{"goal": "a", "max_rounds": 0}]}, "tasks[0].max_rounds"),
        ({"tasks": [{"goal": "a", "surprise": 1}]}, "tasks[0].surprise"),
        ({"tasks": [{"goal": "a"}], "concurrency": 0}, "concurrency"),
    ],
)
async def test_arguments_that_do_not_fit_are_named(
    house: House, arguments: dict[str, Any], path: str
):
    with pytest.raises(InvalidArguments) as caught:
        await call(delegate_parallel, house.ctx(), **arguments)
    assert [error["path"] for error in caught.value.details["errors"]] == [path]


async def _multi_agent(house: House, *tasks: dict[str, Any]) -> Any:
    return await call_as("multi_agent", delegate_parallel, house.ctx(), tasks=list(tasks))


@pytest.mark.requirement("SUB-01", "SUB-05")
async def test_multi_agent_answers_in_the_shape_of_the_seeds(house: House):
    house.delegation.script = _bad_b
    a, b = ({"name": name, "instruction": f"do {name}"} for name in "ab")
    result = await _multi_agent(house, a, b)
    assert result.data == {
        "success": True,
        "results": [
            {"task_name": "a", "success": True, "response": "did: do a"},
            {"task_name": "b", "success": False, "error": "no luck"},
        ],
        "total": 2,
    }


async def test_multi_agent_has_few_rounds_and_must_answer_in_the_last(house: House):
    await _multi_agent(house, {"name": "a", "instruction": "x", "tools": ["grep"]})
    (started,) = house.delegation.started
    assert started.kind == "multi_agent"
    assert list(started.specs) == [
        TaskSpec(goal="x", label="a", tools=("grep",), last_round_without_tools=True)
    ]


@pytest.mark.parametrize("empty", [[], None])
async def test_no_tools_named_are_all_for_multi_agent(house: House, empty: Any):
    await _multi_agent(house, {"name": "a", "instruction": "x", "tools": empty})
    (started,) = house.delegation.started
    assert started.specs[0].tools is None


async def test_too_many_are_refused_in_the_words_of_the_seeds(house: House):
    tasks = [{"name": str(number), "instruction": "x"} for number in range(6)]
    with pytest.raises(InvalidInput, match=r"^Maximum 5 concurrent agents allowed"):
        await _multi_agent(house, *tasks)
    assert house.delegation.started == []


async def test_multi_agent_is_no_success_when_nobody_is(house: House):
    house.delegation.script = lambda *_: failing("llm client not available")
    result = await _multi_agent(house, {"name": "a", "instruction": "x"})
    assert not result.success
    assert result.data == {
        "success": False,
        "results": [{"task_name": "a", "success": False, "error": "llm client not available"}],
        "total": 1,
    }


@pytest.mark.parametrize(
    ("tasks", "path"),
    [
        ("all", "tasks"),
        (["x"], "tasks[0]"),
        ([{"name": "a"}], "tasks[0].goal"),
        ([{"name": "a", "instruction": 1}], "tasks[0].goal"),
    ],
)
async def test_multi_agent_names_what_does_not_fit(house: House, tasks: Any, path: str):
    with pytest.raises(InvalidArguments) as caught:
        await call_as("multi_agent", delegate_parallel, house.ctx(), tasks=tasks)
    assert [error["path"] for error in caught.value.details["errors"]] == [path]
