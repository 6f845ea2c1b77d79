"""The result of a refused call says how to request a rule, where one may help."""

from __future__ import annotations

import asyncio

import pytest

from app.domain.rule_requests import REQUEST_RULE, RULE_REQUESTS
from app.execution.calls import CallRequest
from app.execution.outcome import CallOutcome
from tests.execution.lab import Lab

HINT = 'use request_rule with tool_call_id "c1"'


async def declined(house: Lab, command: str) -> CallOutcome:
    running = asyncio.create_task(house.run(CallRequest("c1", "bash", {"command": command})))
    await house.answer("decline")
    return (await running)[0]


def offer(house: Lab) -> None:
    """Let the tool work, as in a running service."""
    house.runtime.services.register(RULE_REQUESTS, object())
    house.runtime.resolver.forget()


async def test_a_declined_call_says_how_to_request_a_rule(house: Lab):
    offer(house)

    outcome = await declined(house, "rm file")

    assert outcome.text.endswith(f"which an administrator decides later, {HINT}.")
    # Clients and records keep the plain reason.
    assert outcome.result.error == "A person declined this call; it was not run"


@pytest.mark.parametrize("command", ["rm -rf folder", "rm $(cat list)", "rm -rf /"])
async def test_where_no_rule_is_possible_none_is_mentioned(house: Lab, command: str):
    offer(house)
    floor = command.endswith("/")

    outcome = await house.call("bash", command=command) if floor else await declined(house, command)

    assert REQUEST_RULE not in outcome.text


async def test_without_the_tool_it_is_not_mentioned(house: Lab):
    outcome = await declined(house, "rm file")

    assert REQUEST_RULE not in outcome.text


async def test_a_person_who_calls_a_tool_does_not_see_it(house: Lab):
    offer(house)
    running = asyncio.create_task(
        house.run(CallRequest("c1", "bash", {"command": "rm file"}), caller="rest")
    )
    await house.answer("decline")

    assert REQUEST_RULE not in (await running)[0].text


async def test_a_call_that_a_rule_denies_says_it_too(house: Lab):
    offer(house)
    await house.runtime.rules.create(
        {
            "tool": "bash",
            "match": {"argv": ["ls", "..."]},
            "decision": "deny",
            "justification": "Use list_dir.",
        },
        actor="ann",
    )

    outcome = await house.call("bash", command="ls folder")

    assert (outcome.status, outcome.result.code) == ("denied", "denied_by_rule")
    assert HINT in outcome.text
