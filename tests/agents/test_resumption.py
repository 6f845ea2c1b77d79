"""A question outlives its process: the next one waits for the same answer, and runs it once."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import orjson
import pytest
from pydantic import SecretStr

from app.bootstrap.service import open_service
from app.config.settings import Settings
from app.core.errors import AlreadyApproved, AlreadyFinished, Forbidden
from app.execution.calls import CallRequest
from app.execution.confirmation.answers import ConfirmationReply
from app.governance.approvals.approver import Approver
from app.governance.approvals.policies import ApprovalPolicy, PolicyStep
from tests.agents.models.exchange import KEY
from tests.agents.office import open_office
from tests.agents.suspended import (
    ASKS,
    Killed,
    answer,
    audited,
    events_of,
    killed,
    run_is_over,
    watched,
)
from tests.execution.lab import open_lab
from tests.support.scripted_anthropic.server import ScriptedAnthropic
from tests.support.scripted_anthropic.turns import Turn, text, tool_use

BASH = ("c1", "bash", {"command": ASKS})
LONG = ("c2", "bash", {"command": "touch begun; sleep 600"})
QUICK = ("c3", "calculator", {"expression": "6*7"})


def change(settings: Settings, sql: str, *values: Any) -> None:
    """Bring the database of a killed process into a state that a crash may leave."""
    with sqlite3.connect(settings.database_path) as connection:
        connection.execute(sql, values)
    connection.close()


def statuses(events: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [(e["tool_call_id"], e["status"]) for e in events if e["type"] == "tool_call_completed"]


async def test_a_question_outlives_a_kill_and_its_answer_runs_the_call_exactly_once(
    settings: Settings,
):
    left = await killed(settings, BASH)
    async with open_service(settings) as service:
        before = await events_of(service.archive, left.session_id)
        (asked,) = service.confirmations.pending(left.session_id)
        (event,) = [e for e in before if e["type"] == "tool_confirmation_request"]
        same = ("confirmation_id", "digest", "subject", "options", "expires_at")
        assert [asked[name] for name in same] == [event[name] for name in same]
        assert before[-1]["type"] == "tool_confirmation_request"
        run = service.runs.active(left.session_id)
        assert run is not None
        assert run.id == left.run_id
        assert await answer(service, left.session_id) == "approved"
        await run_is_over(service, left.session_id)
        events = await events_of(service.archive, left.session_id)
        assert [e["type"] for e in events[len(before) :]] == [
            "tool_confirmation_resolved",
            "tool_call_completed",
            "message_completed",
            "run_finished",
        ]
        assert statuses(events) == [("c1", "success")]
        assert events[-1]["status"] == "success"
        assert {e["operation_id"] for e in events if e.get("tool_call_id") == "c1"} == {
            event["operation_id"]
        }
        rows = await service.archive.calls(left.session_id)
        assert [(row.tool_call_id, row.status) for row in rows] == [("c1", "success")]
    assert left.ran == "x"
    async with open_service(settings) as service:
        assert await events_of(service.archive, left.session_id) == events
    assert left.ran == "x"


async def test_the_rest_of_the_batch_keeps_what_it_came_to_and_what_was_running_is_interrupted(
    settings: Settings,
):
    left = await killed(
        settings,
        BASH,
        LONG,
        QUICK,
        trace=True,
        until={"tool_confirmation_request": 1, "tool_call_completed": 1},
    )
    async with open_service(settings) as service:
        await answer(service, left.session_id)
        await run_is_over(service, left.session_id)
        events = await events_of(service.archive, left.session_id)
        reported = events[-2]
    assert statuses(events) == [("c3", "success"), ("c2", "interrupted"), ("c1", "success")]
    ends = [row[1:4] for row in await audited(settings, "call.finished")]
    assert ends == [
        ("calculator", "allow", "success"),
        ("bash", "allow", "interrupted"),
        ("bash", "ask", "success"),
    ]
    assert [block["tool_use_id"] for block in reported["content"]] == ["c1", "c2", "c3"]
    assert "42" in reported["content"][2]["content"][0]["text"]
    assert left.ran == "x"


async def test_calls_that_had_not_been_taken_up_run_after_the_answer(settings: Settings):
    left = await killed(settings, BASH, QUICK, workers=1)
    async with open_service(settings) as service:
        await answer(service, left.session_id, "decline")
        await run_is_over(service, left.session_id)
        events = await events_of(service.archive, left.session_id)
    assert statuses(events) == [("c1", "declined"), ("c3", "success")]
    assert left.ran == ""


async def test_equal_calls_of_a_batch_still_share_one_result(settings: Settings):
    again = ("c9", *BASH[1:])
    left = await killed(settings, BASH, again)
    async with open_service(settings) as service:
        await answer(service, left.session_id)
        await run_is_over(service, left.session_id)
        events = await events_of(service.archive, left.session_id)
    assert statuses(events) == [("c1", "success"), ("c9", "skipped")]
    assert left.ran == "x"


async def test_a_model_s_run_goes_on_with_the_result(settings: Settings):
    asks = Turn(tool_use("bash", {"command": ASKS}, id="t1"))
    turns = [asks, Turn(text("Done."))]
    async with ScriptedAnthropic(*turns, api_key=KEY) as provider:
        ways: dict[str, Any] = {"anthropic_api_key": KEY, "anthropic_base_url": provider.base_url}
        left = await killed(settings, **ways)
        async with open_service(settings.model_copy(update=_secret(ways))) as service:
            await answer(service, left.session_id)
            await run_is_over(service, left.session_id)
            events = await events_of(service.archive, left.session_id)
        results = (await provider.received(2)).tool_results()
        assert provider.refused == []
    assert results["t1"].get("is_error") in (None, False)
    assert [e["type"] for e in events][-4:] == [
        "tool_call_completed",
        "message_completed",
        "message_completed",
        "run_finished",
    ]
    assert events[-1]["status"] == "success"
    assert events[-1]["usage"]["output_tokens"] == 30
    assert left.ran == "x"


async def test_what_a_parked_run_has_used_is_reported_also_when_it_cannot_go_on(settings: Settings):
    turn = Turn(tool_use("bash", {"command": ASKS}, id="t1"))
    async with ScriptedAnthropic(turn, api_key=KEY) as provider:
        ways: dict[str, Any] = {"anthropic_api_key": KEY, "anthropic_base_url": provider.base_url}
        left = await killed(settings, **ways)
        change(
            settings,
            "UPDATE runs SET input = json_set(input, '$.token_id', 'tok_gone') WHERE id = ?",
            left.run_id,
        )
        async with open_service(settings.model_copy(update=_secret(ways))) as service:
            events = await events_of(service.archive, left.session_id)
            row = await service.archive.run(left.run_id)
    assert (events[-1]["type"], events[-1]["status"]) == ("run_finished", "interrupted")
    assert events[-1]["error"]["code"] == "unauthenticated"
    assert events[-1]["usage"]["output_tokens"] == 15
    assert row is not None
    assert orjson.loads(row.usage) == events[-1]["usage"]
    assert left.ran == ""


async def test_a_message_that_waited_behind_the_question_is_answered_after_it(settings: Settings):
    turns = [
        Turn(tool_use("bash", {"command": ASKS}, id="t1")),
        Turn(text("Done.")),
        Turn(text("And that.")),
    ]
    async with ScriptedAnthropic(*turns, api_key=KEY) as provider:
        ways: dict[str, Any] = {"anthropic_api_key": KEY, "anthropic_base_url": provider.base_url}
        left = await killed(settings, queued=("and then?",), **ways)
        async with open_service(settings.model_copy(update=_secret(ways))) as service:
            watcher = await watched(service, left.session_id)
            await answer(service, left.session_id)
            await watcher.until("run_finished", count=2)
        last = (await provider.received(3)).messages[-1]
        assert last["content"][-1]["text"] == "and then?"
    assert left.ran == "x"


async def test_an_approval_that_was_committed_before_the_crash_runs_the_call_once(
    settings: Settings,
):
    left = await killed(settings, BASH)
    change(
        settings,
        "UPDATE confirmations SET status = 'approved', option_id = 'approve_once',"
        " answered_by = 'ann', answered_at = created_at",
    )
    async with open_service(settings) as service:
        await run_is_over(service, left.session_id)
        events = await events_of(service.archive, left.session_id)
    (resolved,) = [e for e in events if e["type"] == "tool_confirmation_resolved"]
    assert (resolved["outcome"], resolved["by"]) == ("approved", "ann")
    assert statuses(events) == [("c1", "success")]
    assert left.ran == "x"


async def test_a_call_that_was_claimed_before_the_crash_is_never_run_again(settings: Settings):
    left = await killed(settings, BASH)
    change(settings, "UPDATE confirmations SET status = 'approved', consumed_at = created_at")
    change(
        settings,
        "INSERT INTO tool_calls (operation_id, tool_call_id, session_id, run_id, tool_name,"
        " arguments, status, started_at) SELECT operation_id, tool_call_id, session_id, run_id,"
        " tool_name, '{}', 'started', created_at FROM confirmations",
    )
    async with open_service(settings) as service:
        await run_is_over(service, left.session_id)
        events = await events_of(service.archive, left.session_id)
        assert service.confirmations.pending(left.session_id) == []
    assert statuses(events) == [("c1", "interrupted")]
    assert events[-1]["status"] == "interrupted"
    assert left.ran == ""


async def test_a_no_that_was_committed_before_the_crash_is_reported_as_a_no(settings: Settings):
    left = await killed(settings, BASH)
    change(
        settings,
        "UPDATE confirmations SET status = 'declined', message = 'not now', answered_by = 'ann'",
    )
    async with open_service(settings) as service:
        await run_is_over(service, left.session_id)
        events = await events_of(service.archive, left.session_id)
    assert statuses(events) == [("c1", "declined")]
    assert "not now" in events[-3]["content"][0]["text"]


async def test_a_question_that_expires_while_nothing_runs_is_expired_at_the_start(
    settings: Settings,
):
    left = await killed(settings, BASH)
    change(settings, "UPDATE confirmations SET expires_at = 1000.0")
    async with open_service(settings) as service:
        await run_is_over(service, left.session_id)
        events = await events_of(service.archive, left.session_id)
    assert statuses(events) == [("c1", "expired")]
    assert left.ran == ""


async def test_cancelling_a_resumed_run_cancels_its_questions(settings: Settings):
    left = await killed(settings, BASH)
    async with open_service(settings) as service:
        watcher = await watched(service, left.session_id)
        assert await service.runs.cancel(left.session_id, left.run_id)
        await watcher.until("run_finished", status="cancelled")
        assert watcher.of("tool_confirmation_resolved")[0]["outcome"] == "cancelled"
        row = await service.archive.confirmation(
            watcher.of("tool_confirmation_resolved")[0]["confirmation_id"]
        )
        assert row is not None
        assert (row.status, row.call) == ("cancelled", "{}")
    assert left.ran == ""


async def test_a_tool_that_is_switched_off_meanwhile_does_not_run(settings: Settings):
    left = await killed(settings, BASH)
    change(settings, "UPDATE tools SET enabled = 0 WHERE name = 'bash'")
    async with open_service(settings) as service:
        await answer(service, left.session_id)
        await run_is_over(service, left.session_id)
        events = await events_of(service.archive, left.session_id)
    assert statuses(events) == [("c1", "disabled")]
    assert left.ran == ""


async def test_a_tool_that_is_another_one_now_does_not_run(settings: Settings):
    left = await killed(settings, BASH)
    with sqlite3.connect(settings.database_path) as connection:
        (kept,) = connection.execute("SELECT call FROM confirmations").fetchone()
    connection.close()
    other = {**orjson.loads(kept), "version": "another"}
    change(settings, "UPDATE confirmations SET call = ?", orjson.dumps(other).decode())
    async with open_service(settings) as service:
        await answer(service, left.session_id)
        await run_is_over(service, left.session_id)
        events = await events_of(service.archive, left.session_id)
    assert statuses(events) == [("c1", "disabled")]
    assert left.ran == ""


async def test_a_project_that_lies_elsewhere_now_gets_no_approval_for_the_old_place(
    settings: Settings, tmp_path: Path
):
    left = await killed(settings, BASH)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    moved = settings.model_copy(update={"workspace": elsewhere})
    async with open_service(moved) as service:
        await answer(service, left.session_id)
        await run_is_over(service, left.session_id)
        events = await events_of(service.archive, left.session_id)
    assert statuses(events) == [("c1", "disabled")]
    assert (left.ran, list(elsewhere.iterdir())) == ("", [])


async def test_what_a_terminal_asked_is_over_with_its_process(settings: Settings):
    left = await killed(settings, BASH, caller="cli")
    async with open_service(settings) as service:
        assert service.runs.active(left.session_id) is None
        assert service.confirmations.pending(left.session_id) == []
        events = await events_of(service.archive, left.session_id)
    assert statuses(events) == [("c1", "interrupted")]


async def test_nothing_of_the_arguments_is_kept_once_the_call_is_over(settings: Settings):
    left = await killed(settings, BASH)
    async with open_service(settings) as service:
        await answer(service, left.session_id)
        await run_is_over(service, left.session_id)
        (asked,) = await _rows(service, "SELECT call, consumed_at IS NOT NULL FROM confirmations")
        (run,) = await _rows(service, "SELECT input FROM runs WHERE id = ?", left.run_id)
    assert asked == ("{}", 1)
    assert run == (None,)


@pytest.mark.parametrize("option", ["approve_once", "decline"])
async def test_a_service_that_is_stopped_leaves_its_questions_to_the_next_one(
    settings: Settings, option: str
):
    async with open_office(settings) as office:
        run = await office.service.runs.call_tools(
            office.session, _requests(BASH, QUICK), caller="websocket"
        )
        asked = await office.watcher.until("tool_confirmation_request")
        await office.watcher.until("tool_call_completed")
        await office.runtime.db.flush()
        left = Killed(settings, office.session.id, run.id)
    async with open_service(settings) as service:
        (still,) = service.confirmations.pending(left.session_id)
        assert still["confirmation_id"] == asked["confirmation_id"]
        events = await events_of(service.archive, left.session_id)
        assert [e["type"] for e in events].count("tool_confirmation_request") == 1
        assert "tool_confirmation_resolved" not in [e["type"] for e in events]
        await answer(service, left.session_id, option)
        await run_is_over(service, left.session_id)
        events = await events_of(service.archive, left.session_id)
    status = "success" if option == "approve_once" else "declined"
    assert statuses(events) == [("c3", "success"), ("c1", status)]
    assert left.ran == ("x" if option == "approve_once" else "")


async def test_a_model_s_run_of_a_stopped_service_goes_on(settings: Settings):
    turns = [Turn(tool_use("bash", {"command": ASKS}, id="t1"))]
    async with open_office(settings, *turns) as office:
        run_id = await office.say()
        await office.watcher.until("tool_confirmation_request")
        left = Killed(settings, office.session.id, run_id)
    async with open_office(settings, Turn(text("Done."))) as office:
        await answer(office.service, left.session_id)
        await run_is_over(office.service, left.session_id)
        results = (await office.provider.received(1)).tool_results()
        events = await events_of(office.service.archive, left.session_id)
    assert list(results) == ["t1"]
    assert events[-1]["status"] == "success"
    assert left.ran == "x"


def _requests(*calls: tuple[str, str, dict[str, Any]]) -> list[CallRequest]:
    return [CallRequest(*call) for call in calls]


def _secret(ways: dict[str, Any]) -> dict[str, Any]:
    return {**ways, "anthropic_api_key": SecretStr(ways["anthropic_api_key"])}


async def _rows(service: Any, sql: str, *values: Any) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = await service.db.transact(
        lambda transaction: transaction.fetch(sql, values)
    )
    return found


async def test_what_cannot_be_read_any_more_closes_its_run_and_nothing_else(settings: Settings):
    left = await killed(settings, BASH)
    change(settings, "UPDATE runs SET input = '{\"calls\": 7}' WHERE id = ?", left.run_id)
    async with open_service(settings) as service:
        events = await events_of(service.archive, left.session_id)
        assert service.runs.active(left.session_id) is None
        assert service.confirmations.pending(left.session_id) == []
    assert statuses(events) == [("c1", "interrupted")]
    assert events[-1]["type"] == "run_finished"


async def test_a_question_that_cannot_be_put_again_closes_its_run(settings: Settings):
    left = await killed(settings, BASH)
    change(settings, "UPDATE confirmations SET request = '{}'")
    async with open_service(settings) as service:
        await service.db.flush()
        events = await events_of(service.archive, left.session_id)
        assert service.confirmations.pending(left.session_id) == []
        with pytest.raises(AlreadyFinished):
            await service.confirmations.answer(
                next(e["confirmation_id"] for e in events if "confirmation_id" in e),
                ConfirmationReply("approve_once", "x"),
                Approver("ann"),
            )
    assert statuses(events) == [("c1", "interrupted")]
    assert events[-1]["type"] == "run_finished"
    assert left.ran == ""


async def test_a_run_goes_on_where_it_was_when_its_session_is_on_another_branch(
    settings: Settings,
):
    turns = [Turn(tool_use("bash", {"command": ASKS}, id="t1"))]
    async with open_office(settings, *turns) as office:
        await office.say()
        await office.watcher.until("tool_confirmation_request")
        office.service.sessions.branch(office.session, None)
        session_id = office.session.id
    async with open_office(settings, Turn(text("Done."))) as office:
        await answer(office.service, session_id)
        await run_is_over(office.service, session_id)
        assert list((await office.provider.received(1)).tool_results()) == ["t1"]


async def test_a_run_that_is_taken_up_may_use_what_it_could_use_before(settings: Settings):
    await killed(settings, BASH)
    async with open_service(settings) as service:
        assert "schedule_cron" in service.resolver.resolve(None).tool_names


async def test_the_approvals_of_several_people_survive_restarts(settings: Settings):
    async with open_lab(settings) as lab:
        rights = lab.runtime.approvals
        await rights.groups.create("payments", name="P", members=["bob", "eve"], actor="t")
        steps = (PolicyStep(("payments",)),)
        await rights.policies.create(ApprovalPolicy("pol", "P", steps=steps, quorum=2), actor="t")
    left = await killed(settings, BASH)
    async with open_service(settings) as service:
        (asked,) = service.confirmations.pending(left.session_id)
        reply = ConfirmationReply("approve_once", asked["digest"])
        where = asked["confirmation_id"], reply
        with pytest.raises(Forbidden):
            await service.confirmations.answer(*where, Approver("ann"))
        assert await service.confirmations.answer(*where, Approver("bob")) == "recorded"
    async with open_service(settings) as service:
        (asked,) = service.confirmations.pending(left.session_id)
        assert asked["approval"]["approved_by"] == ["bob"]
        with pytest.raises(AlreadyApproved):
            await service.confirmations.answer(*where, Approver("bob"))
        assert left.ran == ""
        assert await service.confirmations.answer(*where, Approver("eve")) == "approved"
        await run_is_over(service, left.session_id)
    assert left.ran == "x"
