"""Asking a person: the first valid answer wins, and no answer means not run."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from app.config.settings import Settings
from app.core.clock import ManualClock
from app.core.errors import (
    AlreadyFinished,
    ConfirmationAlreadyResolved,
    ConfirmationExpired,
    DigestMismatch,
    Forbidden,
    InvalidInput,
    NotFound,
    StorageUnavailable,
    TollgateError,
)
from app.execution.calls import CallRequest
from app.execution.confirmation.answers import ConfirmationReply
from app.execution.outcome import CallOutcome
from app.governance.approvals.approver import Approver
from tests.execution.lab import WRITES, AnyArgs, Lab, bare_lab, made

FULL = [
    "tool_call_started",
    "tool_confirmation_request",
    "tool_confirmation_resolved",
    "tool_call_completed",
]


@pytest.fixture
async def asking(lab: Lab) -> Lab:
    add_asking_tool(lab)
    return lab


def add_asking_tool(lab: Lab) -> list[str]:
    ran: list[str] = []

    async def send(args: AnyArgs, ctx: Any) -> str:
        ran.append(args.text)
        return f"sent {args.text}"

    lab.add(made(send, requires_confirmation=True, **WRITES))
    lab.context["business"] = {"ran": ran}
    return ran


def start(lab: Lab, call_id: str = "c1", **changes: Any) -> asyncio.Task[list[CallOutcome]]:
    return asyncio.create_task(lab.run(CallRequest(call_id, "send", {"text": "hi"}), **changes))


def ran(lab: Lab) -> list[str]:
    return list(lab.context["business"]["ran"])


@pytest.mark.requirement("CNF-02", "CNF-04", "D-1")
async def test_a_call_that_asks_runs_after_an_approval_and_not_before(asking: Lab):
    running = start(asking)
    asked = await asking.watcher.until("tool_confirmation_request")
    assert ran(asking) == []
    assert asked["subject"] == {"type": "tool_call", "args": {"text": "hi"}}
    assert [option["option_id"] for option in asked["options"]] == [
        "decline",
        "approve_once",
        "approve_session",
        "approve_always",
    ]
    assert asked["expires_at"].endswith("Z")
    assert asking.runtime.confirmations.pending(asking.session.id)[0]["digest"] == asked["digest"]
    assert await asking.rows("SELECT status FROM confirmations") == [("pending",)]
    assert await asking.answer("approve_once") == "approved"
    assert (await running)[0].text == "sent hi"
    assert ran(asking) == ["hi"]
    assert asking.watcher.about("c1") == FULL
    resolved = asking.watcher.of("tool_confirmation_resolved")[0]
    assert (resolved["outcome"], resolved["by"]) == ("approved", "ann")
    assert asking.runtime.confirmations.pending(asking.session.id) == []


@pytest.mark.requirement("CNF-03", "D-5")
async def test_a_declined_call_is_not_run_and_says_what_the_person_said(asking: Lab):
    running = start(asking)
    assert await asking.answer("decline", message="ask Bob first") == "declined"
    outcome = (await running)[0]
    assert (outcome.status, outcome.result.code, ran(asking)) == ("declined", "declined", [])
    assert outcome.text.endswith("Reason: ask Bob first")
    assert asking.watcher.about("c1") == FULL


@pytest.mark.requirement("CNF-07")
async def test_nobody_there_means_denied_without_a_question(asking: Lab):
    outcome = (await start(asking, attended=False))[0]
    assert (outcome.status, outcome.result.code, ran(asking)) == ("denied", "unattended", [])
    assert asking.watcher.about("c1") == ["tool_call_started", "tool_call_completed"]


@pytest.mark.requirement("CNF-07", "D-1")
async def test_a_question_that_nobody_answers_expires_and_a_late_answer_counts_for_nothing(
    settings: Settings,
):
    async with bare_lab(settings.model_copy(update={"confirmation_ttl_s": 0.05})) as lab:
        add_asking_tool(lab)
        running = start(lab)
        asked = await lab.watcher.until("tool_confirmation_request")
        outcome = (await running)[0]
        assert (outcome.status, ran(lab)) == ("expired", [])
        assert lab.watcher.of("tool_confirmation_resolved")[0]["outcome"] == "expired"
        assert lab.watcher.about("c1") == FULL
        with pytest.raises(ConfirmationExpired):
            await lab.answer("approve_once", asked)


async def test_an_answer_after_the_time_on_the_server_s_clock_is_refused(settings: Settings):
    clock = ManualClock()
    async with bare_lab(settings, clock=clock) as lab:
        add_asking_tool(lab)
        running = start(lab)
        await lab.watcher.until("tool_confirmation_request")
        clock.advance(601)
        with pytest.raises(ConfirmationExpired):
            await lab.answer("approve_once")
        assert ran(lab) == []
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def test_without_a_limit_a_question_never_expires(settings: Settings):
    async with bare_lab(settings.model_copy(update={"confirmation_ttl_s": 0})) as lab:
        add_asking_tool(lab)
        running = start(lab)
        asked = await lab.watcher.until("tool_confirmation_request")
        assert "expires_at" not in asked
        await lab.answer("approve_once")
        assert (await running)[0].success


@pytest.mark.requirement("D-4")
async def test_of_eight_answers_at_once_exactly_one_counts(asking: Lab):
    running = start(asking)
    await asking.watcher.until("tool_confirmation_request")
    options = ["approve_once", "decline"] * 4
    people = [Approver(f"p{number}", is_admin=True) for number in range(8)]
    answers = [asking.answer(option, by=by) for option, by in zip(options, people, strict=True)]
    results = await asyncio.gather(*answers, return_exceptions=True)
    won = [result for result in results if isinstance(result, str)]
    lost = [result for result in results if isinstance(result, ConfirmationAlreadyResolved)]
    assert (len(won), len(lost)) == (1, 7)
    assert (await running)[0].success is (won == ["approved"])
    resolved = asking.watcher.of("tool_confirmation_resolved")
    assert [event["outcome"] for event in resolved] == won
    assert {(one.details["outcome"], one.details["by"]) for one in lost} == {
        (won[0], resolved[0]["by"])
    }


WRONG: list[tuple[dict[str, Any], type[TollgateError]]] = [
    ({"digest": "0" * 64}, DigestMismatch),
    ({"option_id": "approve_always"}, Forbidden),
    ({"option_id": "approve_agent"}, InvalidInput),
    ({"by": Approver("ann", is_admin=True, kind="agent")}, Forbidden),
    ({"option_id": ""}, InvalidInput),
    ({"session_id": "ses_other"}, NotFound),
]


@pytest.mark.parametrize(("change", "error"), WRONG, ids=str)
async def test_an_answer_that_does_not_fit_changes_nothing(
    asking: Lab, change: dict[str, Any], error: type[TollgateError]
):
    running = start(asking)
    asked = await asking.watcher.until("tool_confirmation_request")
    given = {"option_id": "approve_once", **change}
    with pytest.raises(error):
        await asking.answer(given.pop("option_id"), asked, **given)
    assert ran(asking) == []
    assert await asking.answer("approve_once") == "approved"
    await running


async def test_an_answer_to_nothing_is_not_found(asking: Lab):
    with pytest.raises(NotFound):
        await asking.runtime.confirmations.answer(
            "cfm_x", ConfirmationReply("decline", ""), Approver("ann")
        )


async def test_an_answer_to_a_cancelled_call_comes_too_late(asking: Lab):
    running = start(asking)
    asked = await asking.watcher.until("tool_confirmation_request")
    asking.runtime.executor.cancel(asking.session.id, "c1")
    assert (await running)[0].status == "cancelled"
    with pytest.raises(AlreadyFinished) as refused:
        await asking.answer("approve_once", asked)
    assert refused.value.details["outcome"] == "cancelled"
    assert ran(asking) == []


async def test_an_answer_that_races_a_cancel_learns_that_the_call_is_over(asking: Lab):
    running = start(asking)
    asked = await asking.watcher.until("tool_confirmation_request")
    answering = asyncio.create_task(asking.answer("approve_once", asked))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    asking.runtime.executor.cancel(asking.session.id, "c1")
    with pytest.raises(AlreadyFinished):
        await answering
    assert (await running)[0].status == "cancelled"
    assert ran(asking) == []
    assert await asking.rows("SELECT status FROM confirmations") == [("cancelled",)]


async def test_an_answer_counts_when_whoever_gave_it_goes_away(asking: Lab):
    running = start(asking)
    asked = await asking.watcher.until("tool_confirmation_request")
    answering = asyncio.create_task(asking.answer("approve_once", asked))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    answering.cancel()
    assert (await running)[0].success
    assert ran(asking) == ["hi"]


async def test_a_tool_that_is_switched_off_while_a_question_is_open_does_not_run(asking: Lab):
    await asking.runtime.governance.sync(asking.runtime.registry.snapshot())
    running = start(asking)
    await asking.watcher.until("tool_confirmation_request")
    await asking.runtime.governance.set_enabled("send", enabled=False)
    await asking.answer("approve_once")
    assert ((await running)[0].status, ran(asking)) == ("disabled", [])


async def test_a_tool_that_is_replaced_while_a_question_is_open_does_not_run(asking: Lab):
    running = start(asking)
    await asking.watcher.until("tool_confirmation_request")

    async def send(args: AnyArgs, ctx: Any) -> str:
        return "the new one"

    asking.runtime.registry.register(made(send), replace=True)
    await asking.answer("approve_once")
    assert ((await running)[0].result.code, ran(asking)) == ("tool_changed", [])


async def test_a_sibling_runs_while_a_question_is_open(asking: Lab):
    async def free(args: AnyArgs, ctx: Any) -> str:
        return "done"

    asking.add(made(free))
    requests = [CallRequest("c1", "send", {"text": "hi"}), CallRequest("c2", "free", {})]
    running = asyncio.create_task(asking.run(*requests))
    await asking.watcher.until("tool_call_completed", tool_call_id="c2")
    assert asking.watcher.about("c1")[-1] == "tool_confirmation_request"
    await asking.answer("decline")
    assert [outcome.status for outcome in await running] == ["declined", "success"]


async def test_too_many_open_questions_are_refused(asking: Lab):
    most = asking.runtime.settings.max_pending_confirmations
    many = most + 1
    requests = [CallRequest(f"c{n}", "send", {"number": n}) for n in range(many)]
    running = asyncio.create_task(asking.run(*requests))
    await asking.watcher.until("tool_confirmation_request", count=most)
    refused = await asking.watcher.until("tool_call_completed")
    assert refused["error"]["code"] == "rate_limited"
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def test_a_confirmation_whose_batch_cannot_be_stored_does_not_stay_open(
    asking: Lab, monkeypatch: pytest.MonkeyPatch
):
    def full(_: object) -> str:
        raise StorageUnavailable("The queue is full")

    monkeypatch.setattr("app.execution.confirmation.step.kept_of", full)
    outcome = (await start(asking, run_id="run_1"))[0]
    assert (outcome.status, outcome.result.code) == ("error", "storage_unavailable")
    assert asking.runtime.confirmations.pending(asking.session.id) == []
    assert asking.watcher.of("tool_confirmation_resolved")[0]["outcome"] == "cancelled"


@pytest.mark.requirement("CNF-01", "D-6")
@pytest.mark.parametrize(
    "command",
    [
        "rm notes.txt",
        "cmd /c del notes.txt",
        "cmd /c rd /s /q build",
        "rmdir build",
        'mysql -e "drop table users"',
        "git reset --hard",
        "git clean -f",
        "git push --force",
    ],
)
async def test_each_named_pattern_asks_and_shows_the_command(house: Lab, command: str):
    running = asyncio.create_task(house.call("bash", command=command))
    asked = await house.watcher.until("tool_confirmation_request")
    assert asked["subject"]["command"] == command
    assert asked["risk"]["rules"]
    await house.answer("decline")
    assert (await running).status == "declined"
