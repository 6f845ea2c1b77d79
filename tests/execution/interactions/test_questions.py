"""A question through the gate: put once, answered once, and never left behind."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
import pytest

from app.config.settings import Settings
from app.core.errors import (
    AlreadyFinished,
    InvalidInput,
    NotFound,
    QuestionAlreadyAnswered,
    QuestionClosed,
)
from app.db.question_statements import ALL
from app.db.statements import ADD_RUN
from app.execution.calls import CallRequest
from app.execution.interactions.questions import MAX_OPEN, TakenAnswer, expires_at
from app.execution.interactions.replies import QuestionReply
from app.execution.outcome import CallOutcome
from app.tools.interaction.ask_user import TIMED_OUT
from tests.execution.lab import PATIENCE_S, Event, Lab, open_lab

ASK: dict[str, Any] = {"question": "Which?", "choices": ["red", "blue"]}


def asking(house: Lab, call_id: str = "c1", **arguments: Any) -> asyncio.Task[Any]:
    return asyncio.create_task(house.call("ask_user", call_id, **(arguments or ASK)))


async def answer(house: Lab, asked: Event, said: Any, *, by: str = "ann") -> TakenAnswer:
    reply, session_id = QuestionReply("answered", said), house.session.id
    questions = house.runtime.questions
    return await questions.answer(asked["question_id"], reply, by=by, session_id=session_id)


async def say(house: Lab, asked: Event, said: Any = "blue", *, by: str = "ann") -> str:
    return (await answer(house, asked, said, by=by)).outcome


async def test_the_statements_fit_the_schema(house: Lab):
    for statement in ALL:
        await house.rows(f"EXPLAIN {statement.sql}", *[None] * statement.sql.count("?"))


@pytest.mark.requirement("SYS-05", "INT-01", "D-29")
async def test_the_answer_of_the_user_is_the_result_of_the_call(house: Lab):
    call = asking(house)
    asked = await house.watcher.until("question_asked")
    rows = await house.rows("SELECT status, caller FROM questions")
    assert rows == [("open", "agent")]
    (pending,) = house.runtime.questions.pending(house.session.id)
    assert pending["question_id"] == asked["question_id"]
    assert pending["questions"] == asked["questions"]
    assert asked["questions"][0]["choices"][1] == {
        "id": "choice_2",
        "label": "blue",
        "description": "",
    }
    assert asked["expires_at"] > asked["ts"]
    assert await say(house, asked, "choice_2") == "answered"
    outcome: CallOutcome = await call
    assert outcome.status == "success"
    assert outcome.result.data["user_response"] == "blue"
    assert house.watcher.about("c1") == [
        "tool_call_started",
        "question_asked",
        "question_answered",
        "tool_call_completed",
    ]
    (ended,) = house.watcher.of("question_answered")
    assert (ended["outcome"], ended["answer"], ended["by"]) == ("answered", {"q1": "blue"}, "ann")
    assert house.runtime.questions.pending(house.session.id) == []
    kinds = await house.rows(
        "SELECT kind, actor, outcome FROM audit WHERE kind LIKE 'question.%' ORDER BY seq"
    )
    assert kinds == [("question.asked", "ann", None), ("question.answered", "ann", "answered")]


async def test_of_two_answers_at_once_one_counts(house: Lab):
    call = asking(house)
    asked = await house.watcher.until("question_asked")
    answers = await asyncio.gather(
        *(say(house, asked, colour, by=colour) for colour in ("red", "blue")),
        return_exceptions=True,
    )
    won = [answer for answer in answers if answer == "answered"]
    lost = [answer for answer in answers if isinstance(answer, QuestionAlreadyAnswered)]
    assert (len(won), len(lost)) == (1, 1)
    outcome = await call
    colour = ("red", "blue")[answers.index("answered")]
    assert outcome.result.data["user_response"] == colour
    assert lost[0].details["by"] == colour


async def test_the_same_answer_again_is_harmless(house: Lab):
    call = asking(house)
    asked = await house.watcher.until("question_asked")
    await say(house, asked)
    await call
    again = await house.runtime.questions.answer(
        asked["question_id"],
        QuestionReply("answered", "blue"),
        by="ann",
        session_id=house.session.id,
    )
    assert (again.outcome, again.is_repeat) == ("answered", True)
    with pytest.raises(QuestionAlreadyAnswered):
        await say(house, asked, "red")
    assert len(house.watcher.of("question_answered")) == 1


@pytest.mark.parametrize("session_id", ["ses_other", ""])
async def test_a_question_of_another_session_is_not_there(house: Lab, session_id: str):
    call = asking(house)
    asked = await house.watcher.until("question_asked")
    for question_id, place in ((asked["question_id"], session_id), ("qst_x", house.session.id)):
        with pytest.raises(NotFound):
            await house.runtime.questions.answer(
                question_id, QuestionReply("answered", "blue"), by="eve", session_id=place
            )
    assert not call.done()
    await say(house, asked)
    await call


async def test_an_answer_that_does_not_fit_leaves_the_question_open(house: Lab):
    call = asking(house)
    asked = await house.watcher.until("question_asked")
    for wrong in (["green"], "x" * 20_000, {"choices": ["red", "blue"]}, 7):
        with pytest.raises(InvalidInput):
            await say(house, asked, wrong)
    assert len(house.runtime.questions.pending(house.session.id)) == 1
    await say(house, asked)
    assert (await call).success


async def test_nobody_answers_in_time(settings: Settings):
    changed = settings.model_copy(update={"question_ttl_s": 0.05})
    async with open_lab(changed) as house:
        outcome = await house.call("ask_user", **ASK)
        assert outcome.status == "success"
        assert outcome.result.data["user_response"] == TIMED_OUT
        assert house.watcher.of("question_answered")[0]["outcome"] == "expired"
        asked = house.watcher.of("question_asked")[0]
        taken = await house.runtime.questions.answer(
            asked["question_id"],
            QuestionReply("answered", "blue"),
            by="ann",
            session_id=house.session.id,
        )
        assert taken.outcome == "late"
        assert "Which?" in str(taken.message)
        assert "blue" in str(taken.message)
        with pytest.raises(QuestionAlreadyAnswered):
            await say(house, asked, "red")
        await house.runtime.questions.reopen(taken)
        assert await say(house, asked, "red") == "late"


async def test_a_late_answer_that_a_killed_process_did_not_bring_can_be_sent_again(
    settings: Settings,
):
    async with open_lab(settings.model_copy(update={"question_ttl_s": 0.05})) as house:
        await asking(house)
        asked = house.watcher.of("question_asked")[0]
        first = await answer(house, asked, "blue")
        # The answer is committed; here the process is killed, before its message is.
        again = await answer(house, asked, "blue")
        assert (again.outcome, again.is_repeat) == ("late", False)
        assert (again.message, again.run_id) == (first.message, first.run_id)
        row = (first.run_id, house.session.id, "message", "queued", None, None, None, "x", "now")
        house.runtime.db.append(ADD_RUN, row)
        brought = await answer(house, asked, "blue")
        assert (brought.is_repeat, brought.message) == (True, None)
        with pytest.raises(QuestionAlreadyAnswered):
            await answer(house, asked, "red")


async def test_an_answer_for_a_call_without_an_agent_is_no_message(settings: Settings):
    changed = settings.model_copy(update={"question_ttl_s": 0.05})
    async with open_lab(changed) as house:
        await house.run(CallRequest("c1", "ask_user", ASK), caller="rest")
        asked = house.watcher.of("question_asked")[0]
        with pytest.raises(QuestionClosed):
            await say(house, asked)


def test_people_have_their_time_and_the_call_a_little_more():
    assert expires_at(1000, 600, None) == 1600
    assert expires_at(1000, 600, 100) == 1099
    assert expires_at(1000, 600, 1) == 1000.5
    assert expires_at(1000, 0, 100) == 1099
    assert expires_at(1000, 0, None) is None


async def test_a_cancelled_call_takes_its_question_back(house: Lab):
    call = asking(house)
    asked = await house.watcher.until("question_asked")
    assert house.runtime.executor.cancel(house.session.id, "c1")
    assert (await call).status == "cancelled"
    assert house.watcher.about("c1")[-2:] == ["question_answered", "tool_call_completed"]
    assert house.watcher.of("question_answered")[0]["outcome"] == "cancelled"
    assert house.runtime.questions.pending(house.session.id) == []
    assert await house.rows("SELECT status, told FROM questions") == [("cancelled", 1)]
    assert await say(house, asked) == "late"


async def test_an_answer_while_the_call_is_cancelled_is_never_reported_as_read(house: Lab):
    call = asking(house)
    asked = await house.watcher.until("question_asked")
    answer = asyncio.create_task(say(house, asked))
    house.runtime.executor.cancel(house.session.id, "c1")
    try:
        assert await answer == "late"
    except AlreadyFinished:
        assert await house.rows("SELECT status FROM questions") == [("answered",)]
    assert (await call).status == "cancelled"
    assert [e["outcome"] for e in house.watcher.of("question_answered")] == ["cancelled"]


async def test_where_nobody_is_there_nothing_is_asked(house: Lab):
    (outcome,) = await house.run(CallRequest("c1", "ask_user", ASK), attended=False)
    assert (outcome.status, outcome.result.code) == ("error", "unattended")
    assert house.watcher.of("question_asked") == []
    assert await house.rows("SELECT * FROM questions") == []


async def test_an_agent_may_be_left_waiting_where_nobody_is_there_yet(settings: Settings):
    async with open_lab(settings.model_copy(update={"unattended": "suspend"})) as house:
        request = CallRequest("c1", "ask_user", ASK)
        call = asyncio.create_task(house.run(request, attended=False))
        await say(house, await house.watcher.until("question_asked"))
        assert (await call)[0].success


async def test_equal_questions_of_one_turn_are_asked_once(house: Lab):
    requests = [CallRequest(name, "ask_user", ASK) for name in ("a", "b")]
    calls = asyncio.create_task(house.run(*requests))
    await say(house, await house.watcher.until("question_asked"))
    first, second = await calls
    assert (first.status, second.status) == ("success", "skipped")
    assert len(house.watcher.of("question_asked")) == 1


async def test_who_waits_for_a_person_holds_up_nobody_else(house: Lab):
    requests = [
        CallRequest(f"c{number}", "ask_user", {"question": f"{number}?"}) for number in range(6)
    ]
    requests.append(CallRequest("last", "calculator", {"expression": "6*7"}))
    calls = asyncio.create_task(house.run(*requests, workers=2))
    await house.watcher.until("tool_call_completed", tool_call_id="last")
    await house.watcher.until("question_asked", 6)
    for asked in house.watcher.of("question_asked"):
        await say(house, asked, "x")
    assert {outcome.status for outcome in await calls} == {"success"}


async def test_a_session_has_only_so_many_open_questions(house: Lab):
    requests = [
        CallRequest(f"c{number}", "ask_user", {"question": f"{number}?"})
        for number in range(MAX_OPEN + 1)
    ]
    calls = asyncio.create_task(house.run(*requests))
    refused = await house.watcher.until("tool_call_completed")
    assert refused["error"]["code"] == "rate_limited"
    await house.watcher.until("question_asked", MAX_OPEN)
    calls.cancel()
    async with asyncio.timeout(PATIENCE_S):
        await asyncio.gather(calls, return_exceptions=True)
    assert house.runtime.questions.pending(house.session.id) == []


async def test_secrets_are_masked_where_others_read(house: Lab):
    key = "sk-ant-api03-" + "A1b2C3d4" * 11
    call = asking(house, question=f"Is {key} right?")
    asked = await house.watcher.until("question_asked")
    assert key not in orjson.dumps(asked).decode()
    await say(house, asked, f"no, {key}x is")
    await call
    assert key not in orjson.dumps(house.watcher.events).decode()
    details = await house.rows("SELECT detail FROM audit WHERE kind LIKE 'question.%'")
    assert key not in str(details)


async def test_a_sub_agent_cannot_ask(house: Lab):
    (outcome,) = await house.run(CallRequest("c1", "ask_user", ASK), caller="subagent")
    assert outcome.status in ("disabled", "error")
    assert house.watcher.of("question_asked") == []
