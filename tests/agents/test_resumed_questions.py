"""What a tool asked outlives its process, and is found again under the same id."""

from __future__ import annotations

from typing import Any

import pytest

from app.bootstrap.service import open_service
from app.config.settings import Settings
from app.execution.interactions.replies import QuestionReply
from tests.agents.suspended import answer, events_of, killed, run_is_over, watched
from tests.agents.test_resumption import change, statuses

ASK = ("c1", "ask_user", {"question": "Which?", "choices": ["red", "blue"]})
ESCALATE = ("c1", "escalate", {"reason": "Pay?", "blocking": True})
LONG = ("c2", "bash", {"command": "touch begun; sleep 600"})
BASH = ("c2", "bash", {"command": "rm -f nothing; echo x >> ran"})
ASKED = {"question_asked": 1}
OPENED = {"ticket_opened": 1}


async def said(service: Any, session_id: str, answer: str = "blue") -> str:
    (asked,) = service.questions.pending(session_id)
    taken = await service.questions.answer(
        asked["question_id"], QuestionReply("answered", answer), by="ann", session_id=session_id
    )
    return str(taken.outcome)


def reported(events: list[dict[str, Any]]) -> str:
    (ended,) = [
        e for e in events if e["type"] == "tool_call_completed" and e["tool_call_id"] == "c1"
    ]
    return str(ended["content"][0]["text"])


@pytest.mark.requirement("D-4")
async def test_a_question_outlives_a_kill_and_its_answer_ends_the_call(settings: Settings):
    left = await killed(settings, ASK, until=ASKED)
    async with open_service(settings) as service:
        before = await events_of(service.archive, left.session_id)
        (asked,) = [e for e in before if e["type"] == "question_asked"]
        (pending,) = service.questions.pending(left.session_id)
        assert pending["question_id"] == asked["question_id"]
        assert pending["questions"] == asked["questions"]
        run = service.runs.active(left.session_id)
        assert run is not None
        assert run.id == left.run_id
        assert await said(service, left.session_id) == "answered"
        await run_is_over(service, left.session_id)
        events = await events_of(service.archive, left.session_id)
        assert [e["type"] for e in events[len(before) :]] == [
            "question_answered",
            "tool_call_completed",
            "message_completed",
            "run_finished",
        ]
        assert statuses(events) == [("c1", "success")]
        assert '"blue"' in reported(events)
        assert events[-1]["status"] == "success"
    async with open_service(settings) as service:
        assert await events_of(service.archive, left.session_id) == events


async def test_an_answer_that_was_taken_before_the_kill_is_used_and_reported(settings: Settings):
    left = await killed(settings, ASK, until=ASKED)
    change(
        settings,
        "UPDATE questions SET status = 'answered', answer = ?, answered_by = 'ann'",
        '{"q1":"red"}',
    )
    async with open_service(settings) as service:
        await run_is_over(service, left.session_id)
        events = await events_of(service.archive, left.session_id)
        (ended,) = [e for e in events if e["type"] == "question_answered"]
        assert (ended["outcome"], ended["answer"], ended["by"]) == (
            "answered",
            {"q1": "red"},
            "ann",
        )
        assert '"red"' in reported(events)


async def test_time_goes_on_while_no_process_is_there(settings: Settings):
    left = await killed(settings, ASK, until=ASKED)
    change(settings, "UPDATE questions SET expires_at = 1000")
    async with open_service(settings) as service:
        await run_is_over(service, left.session_id)
        events = await events_of(service.archive, left.session_id)
        assert [e["outcome"] for e in events if e["type"] == "question_answered"] == ["expired"]
        assert "did not provide a response" in reported(events)


async def test_a_question_is_handed_on_from_process_to_process(settings: Settings):
    left = await killed(settings, ASK, until=ASKED)
    ids = set()
    for _ in range(2):
        async with open_service(settings) as service:
            (pending,) = service.questions.pending(left.session_id)
            ids.add(pending["question_id"])
    async with open_service(settings) as service:
        assert await said(service, left.session_id) == "answered"
        await run_is_over(service, left.session_id)
        events = await events_of(service.archive, left.session_id)
    assert len(ids) == 1
    assert statuses(events) == [("c1", "success")]
    assert [e["type"] for e in events].count("question_asked") == 1
    assert [e["type"] for e in events].count("tool_call_started") == 1


async def test_what_ran_beside_a_question_is_interrupted_and_the_question_stays(
    settings: Settings,
):
    left = await killed(settings, ASK, LONG, until=ASKED, trace=True)
    async with open_service(settings) as service:
        await said(service, left.session_id)
        await run_is_over(service, left.session_id)
        events = await events_of(service.archive, left.session_id)
    assert sorted(statuses(events)) == [("c1", "success"), ("c2", "interrupted")]


async def test_a_question_and_a_confirmation_wait_on_together(settings: Settings):
    left = await killed(settings, ASK, BASH, until={**ASKED, "tool_confirmation_request": 1})
    async with open_service(settings) as service:
        assert len(service.confirmations.pending(left.session_id)) == 1
        watcher = await watched(service, left.session_id)
        await said(service, left.session_id)
        await watcher.until("tool_call_completed", tool_call_id="c1")
    async with open_service(settings) as service:
        assert await answer(service, left.session_id) == "approved"
        await run_is_over(service, left.session_id)
        events = await events_of(service.archive, left.session_id)
    assert sorted(statuses(events)) == [("c1", "success"), ("c2", "success")]
    assert left.ran == "x"


async def test_a_tool_that_was_switched_off_meanwhile_takes_its_question_back(settings: Settings):
    left = await killed(settings, ASK, until=ASKED)
    change(
        settings,
        "INSERT INTO toolsets (name, enabled, version, updated_at)"
        " VALUES ('interaction', 0, 1, '2026-01-01T00:00:00.000Z')",
    )
    async with open_service(settings) as service:
        await run_is_over(service, left.session_id)
        events = await events_of(service.archive, left.session_id)
        assert service.questions.pending(left.session_id) == []
    assert statuses(events) == [("c1", "disabled")]
    assert [e["outcome"] for e in events if e["type"] == "question_answered"] == ["cancelled"]


async def test_a_question_of_a_run_that_cannot_go_on_is_taken_back(settings: Settings):
    left = await killed(settings, ASK, until=ASKED)
    change(settings, "UPDATE runs SET input = 'damaged'")
    async with open_service(settings) as service:
        assert service.runs.active(left.session_id) is None
        events = await events_of(service.archive, left.session_id)
        ends = [e["type"] for e in events[-3:]]
        assert ends == ["question_answered", "tool_call_completed", "run_finished"]
        assert statuses(events) == [("c1", "interrupted")]


async def test_a_ticket_that_is_waited_for_outlives_a_kill(settings: Settings):
    left = await killed(settings, ESCALATE, until=OPENED)
    async with open_service(settings) as service:
        before = await events_of(service.archive, left.session_id)
        (opened,) = [e for e in before if e["type"] == "ticket_opened"]
        session = await service.sessions.get(left.session_id)
        assert session is not None
        resolved = await service.tickets.resolve(
            opened["ticket_id"], "answered", "Pay it", actor="boss", expected=1, log=session.log
        )
        assert resolved.message is None
        await run_is_over(service, left.session_id)
        events = await events_of(service.archive, left.session_id)
    assert statuses(events) == [("c1", "success")]
    assert "Pay it" in reported(events)
    assert [e["type"] for e in events].count("ticket_opened") == 1
