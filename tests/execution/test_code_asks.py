"""Python without restrictions never runs unasked; what it would destroy is refused outright."""

from __future__ import annotations

import asyncio

import pytest

from app.config.sections import CodeExecutionSettings
from app.config.settings import Settings
from app.execution.calls import CallRequest
from tests.execution.lab import Lab, open_lab


@pytest.mark.requirement("B-21")
async def test_lenient_code_asks_and_runs_only_when_a_person_agrees(house: Lab):
    code = "import os; print(os.getcwd())"
    running = asyncio.create_task(house.call("execute_python", code=code, strictness="lenient"))

    asked = await house.watcher.until("tool_confirmation_request")
    assert "import and call everything" in asked["description"]
    await house.answer("approve_once", asked)
    outcome = await running

    assert outcome.status == "success"
    assert outcome.result.data["sandbox"]["level"] == "lenient"


async def test_lenient_code_does_not_run_when_nobody_can_be_asked(house: Lab):
    request = CallRequest("c1", "execute_python", {"code": "print(1)", "strictness": "lenient"})
    (outcome,) = await house.run(request, attended=False)

    assert (outcome.status, outcome.result.code) == ("denied", "unattended")


async def test_where_lenient_is_the_default_a_call_that_names_none_asks(settings: Settings):
    chosen = CodeExecutionSettings(default_strictness="lenient")
    async with open_lab(settings.model_copy(update={"code_execution": chosen})) as house:
        request = CallRequest("c1", "execute_python", {"code": "print(1)"})
        (outcome,) = await house.run(request, attended=False)

    assert outcome.result.code == "unattended"


@pytest.mark.parametrize("strictness", ["standard", "strict", None])
async def test_what_only_computes_does_not_ask(house: Lab, strictness: str | None):
    given = {"strictness": strictness} if strictness else {}
    outcome = await house.call("execute_python", code="1 + 1", **given)

    assert (outcome.status, outcome.result.data["value"]) == ("success", "2")
    assert not house.watcher.of("tool_confirmation_request")


async def test_code_that_destroys_the_machine_is_denied_whoever_agrees(house: Lab):
    code = "import shutil; shutil.rmtree('/')"
    outcome = await house.call("execute_python", code=code, strictness="lenient")

    assert outcome.status == "denied"
    assert not house.watcher.of("tool_confirmation_request")
