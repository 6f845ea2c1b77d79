"""A handful of the moments at which a service may die; `python -m tests.crash` tries more."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path

import pytest

from tests.crash.delegated import DelegatedTrial
from tests.crash.trial import Trial, run_trial


@pytest.mark.parametrize("kills", [(2,), (19,), (33, 8), (61,)], ids=str)
async def test_a_run_goes_on_after_its_service_was_killed(tmp_path: Path, kills: tuple[int, ...]):
    trial = await run_trial(tmp_path, *kills)
    assert trial.wrong() == []
    assert trial.begun <= bool(trial.runs)


async def test_a_run_ends_with_its_service_where_that_is_asked_for(tmp_path: Path):
    trial = await run_trial(tmp_path, 40, TOLLGATE_DURABLE_RUNS="close")
    assert [run["status"] for run in trial.runs] == ["interrupted"]
    assert trial.events[-1]["type"] == "run_finished"
    assert not trial.was_resumed
    assert set(trial.marks.values()) == {1}


@pytest.mark.parametrize("kills", [(24,), (70, 30), (120,)], ids=str)
async def test_sub_agents_in_the_background_go_on_after_their_service_was_killed(
    tmp_path: Path, kills: tuple[int, ...]
):
    trial = await run_trial(tmp_path, *kills, kind=DelegatedTrial)
    assert trial.was_resumed
    assert trial.wrong() == []


@pytest.mark.parametrize("kills", [(30,), (90, 40)], ids=str)
async def test_sub_agents_that_are_waited_for_go_on_too(tmp_path: Path, kills: tuple[int, ...]):
    trial = await run_trial(tmp_path, *kills, kind=partial(DelegatedTrial, background=False))
    assert trial.was_resumed
    assert trial.wrong() == []


async def test_sub_agents_end_with_their_service_where_that_is_asked_for(tmp_path: Path):
    kind = partial(DelegatedTrial, goes_on=False)
    trial = await run_trial(tmp_path, 60, kind=kind, TOLLGATE_DURABLE_RUNS="close")
    assert trial.wrong() == []
    assert isinstance(trial, DelegatedTrial)
    (batch,) = trial.batches
    assert {task["status"] for task in batch["tasks"]} == {"interrupted"}
    assert set(trial.marks.values()) == {1}


def test_a_trial_tells_what_is_wrong():
    ids = {"run_id": "r", "tool_call_id": "m1-a", "operation_id": "op"}
    trial = Trial(
        begun=True,
        events=[
            {"type": "run_started", "seq": 1, "run_id": "r"},
            {"type": "tool_call_started", "seq": 2, **ids},
            {"type": "tool_call_completed", "seq": 4, "status": "success", **ids},
            {"type": "tool_call_completed", "seq": 5, "status": "success", **ids},
        ],
        runs=[{"status": "interrupted"}],
        messages=[
            {"role": "assistant", "content": [{"type": "tool_use", "id": "m1-a"}]},
            {"role": "assistant", "content": [{"type": "text", "text": "so far"}]},
        ],
        marks=Counter({"m1-a": 2, "m9-a": 1}),
        refused=["the provider refused: no result"],
    )
    reported = "\n".join(trial.wrong())
    for word in (
        "m1-a took effect 2 times",
        "nobody was told of m9-a",
        "the log has a gap",
        "tool_call_started and tool_call_completed are no pairs",
        "run_started and run_finished are no pairs",
        "something comes after the end of a run",
        "the run ended as",
        "2 answers, and not 7",
        "the provider refused",
        "the model has no result of m1-a",
        "the last word is",
    ):
        assert word in reported


def test_a_trial_tells_what_is_wrong_with_sub_agents():
    task = {"task_id": "t", "child_run_id": "c", "status": "success"}
    reported = DelegatedTrial(
        begun=True,
        events=[
            {"type": "subagent_started", "seq": 1, "run_id": "r", **task},
            {"type": "subagent_finished", "seq": 2, "run_id": "r", **task},
            {"type": "run_resumed", "seq": 3, "run_id": "c"},
            {"type": "subagent_finished", "seq": 4, "run_id": "r", **task},
        ],
        runs=[{"status": "interrupted", "trigger": "message"}],
        batches=[
            {
                "tasks": [
                    {
                        "run_id": "c",
                        "label": "apples",
                        "status": "error",
                        "response": "so far",
                        "error": None,
                        "rounds": 5,
                        "usage": {"output_tokens": 90},
                    }
                ]
            }
        ]
        * 2,
    ).wrong()
    for words in (
        "subagent_started and subagent_finished are no pairs",
        "run_resumed comes after the end of c",
        "the run ended as",
        "2 batches came of one call",
        "apples ended as error, and was reported as success",
        "apples ended as error: so far",
        "apples took 5 rounds, and not 7",
        "apples used",
    ):
        assert words in "\n".join(reported)
