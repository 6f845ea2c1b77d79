"""A model that keeps trying what people decline is told to stop, and then refused."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from app.execution.calls import CallRequest
from app.execution.confirmation.declines import STOP_AFTER
from app.execution.outcome import CallOutcome
from tests.execution.lab import Lab


async def ask(lab: Lab, number: int, command: str, **changes: Any) -> CallOutcome:
    """One call that is declined when it asks."""
    request = CallRequest(f"c{number}", "bash", {"command": command})
    running = asyncio.create_task(lab.run(request, **{"run_id": "run_1", **changes}))
    done = asyncio.create_task(
        lab.watcher.until("tool_confirmation_request", tool_call_id=request.id)
    )
    await asyncio.wait({running, done}, return_when=asyncio.FIRST_COMPLETED)
    if done.done():
        await lab.answer("decline", done.result())
    done.cancel()
    return (await running)[0]


async def test_after_three_declines_of_one_goal_the_model_is_asked_to_stop_and_not_asked_for_again(
    house: Lab,
):
    outcomes = [await ask(house, number, f"rm file{number}") for number in range(STOP_AFTER)]
    assert {outcome.status for outcome in outcomes} == {"declined"}
    assert ["Do not try it another way" in outcome.text for outcome in outcomes] == [
        False,
        False,
        True,
    ]
    again = await ask(house, 7, "rm -r another")
    assert (again.status, again.result.code) == ("denied", "declined_repeatedly")
    assert "Do not try it another way" in again.text
    assert house.watcher.about("c7") == ["tool_call_started", "tool_call_completed"]


# One goal, in other words: each deletes.
HIDDEN = [
    "python3 -c \"import shutil; shutil.rmtree('data')\"",
    "python3 -c \"__import__('os').system('rm -r data')\"",
    "python3 - <<'X'\nimport os\nos.remove('data')\nX",
    "bash -c 'rm -r data'",
    "awk 'BEGIN{system(\"rm -r data\")}'",
    "find data -delete",
]


@pytest.mark.requirement("D-8")
@pytest.mark.parametrize("command", HIDDEN)
async def test_what_was_declined_is_found_again_in_the_argument_of_an_interpreter(
    house: Lab, command: str
):
    asked = (await house.run(CallRequest("c0", "bash", {"command": command}), attended=False))[0]
    assert (asked.status, asked.result.code) == ("denied", "unattended")
    for number in range(STOP_AFTER):
        await ask(house, number + 1, f"rm file{number}")
    again = await ask(house, 7, command)
    assert (again.status, again.result.code) == ("denied", "declined_repeatedly")


async def test_another_goal_another_run_and_a_person_s_own_calls_still_ask(house: Lab):
    for number in range(STOP_AFTER):
        await ask(house, number, f"rm file{number}")
    assert (await ask(house, 10, "git push --force")).status == "declined"
    assert (await ask(house, 11, "rm x", run_id="run_2")).status == "declined"
    assert (await ask(house, 12, "rm x", caller="websocket")).status == "declined"
