"""Questions over real WebSockets: asked, lost, found again, answered once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from app.agents.models.anthropic import AnthropicModel, AnthropicSettings
from app.config.settings import Settings
from tests.agents.models.exchange import KEY, Waits
from tests.api.people import WORK
from tests.support.scripted_anthropic.server import Received, ScriptedAnthropic
from tests.support.scripted_anthropic.turns import Turn, text, tool_use
from tests.support.service import Chat, Message, Running, serving, settings_for

ASK = {"question": "Which?", "choices": ["red", "blue"]}


async def answer(chat: Chat, asked: Message, said: Any = "blue", **fields: Any) -> Message:
    wanted = {"session_id": asked["session_id"], "outcome": "answered", "answer": said, **fields}
    return await chat.command(type="question_response", question_id=asked["question_id"], **wanted)


async def ask(chat: Chat, session_id: str, **arguments: Any) -> Message:
    await chat.command(
        type="tool_call", session_id=session_id, name="ask_user", arguments=arguments or ASK
    )
    return await chat.until("question_asked")


@pytest.mark.requirement("SYS-05", "INT-01", "D-4")
async def test_one_client_is_asked_and_goes_and_both_find_the_question_again(running: Running):
    session = running.session()
    async with running.connect() as first:
        await first.command(type="subscribe", session_id=session.id)
        asked = await ask(first, session.id)
        position = first.durable()[-1]["seq"]
    async with running.connect() as again, running.connect() as second:
        subscribed = await again.command(
            type="subscribe", session_id=session.id, epoch=asked["epoch"], after=position
        )
        (pending,) = subscribed["pending_questions"]
        assert pending["question_id"] == asked["question_id"]
        assert pending["questions"] == asked["questions"]
        assert pending["expires_at"] == asked["expires_at"]
        other = await second.command(type="subscribe", session_id=session.id)
        assert other["pending_questions"] == [pending]
        assert await second.until("question_asked") == asked
        taken = await answer(second, asked)
        assert taken["result"] == {"outcome": "answered"}
        for chat in (again, second):
            ended = await chat.until("question_answered")
            assert (ended["answer"], ended["by"]) == ({"q1": "blue"}, "local")
            completed = await chat.until("tool_call_completed")
            assert completed["status"] == "success"
            assert '"blue"' in completed["content"][0]["text"]
        lost = await answer(again, asked, "red")
        assert lost["error"]["code"] == "question_already_answered"
        later = await again.command(type="subscribe", session_id=session.id)
        assert later["pending_questions"] == []


async def test_two_clients_answer_at_once_and_one_of_them_wins(running: Running):
    session = running.session()
    async with running.connect() as first, running.connect() as second:
        for chat in (first, second):
            await chat.command(type="subscribe", session_id=session.id)
        for turn in range(20):
            asked = await ask(first, session.id, question=f"{turn}?", choices=["red", "blue"])
            got = await asyncio.gather(answer(first, asked, "red"), answer(second, asked, "blue"))
            assert sorted(item["type"] for item in got) == ["ack", "error"]
            (lost,) = [item for item in got if item["type"] == "error"]
            assert lost["error"]["code"] == "question_already_answered"
            won = ("red", "blue")[[item["type"] for item in got].index("ack")]
            ended = await first.until("question_answered")
            assert ended["answer"] == {"q1": won}
            await first.until("run_finished")


async def test_bad_answers_leave_the_question_open(running: Running):
    session = running.session()
    async with running.connect() as chat:
        await chat.command(type="subscribe", session_id=session.id)
        asked = await ask(chat, session.id)
        for wrong in (["green"], ["red", "blue"], {"q9": "x"}, "x" * 20_000, None, 1e9):
            refused = await answer(chat, asked, wrong)
            assert refused["error"]["code"] == "validation_failed"
        unknown = await answer(chat, {**asked, "question_id": "qst_forged"})
        assert unknown["error"]["code"] == "not_found"
        assert (await answer(chat, asked, None, outcome="declined"))["type"] == "ack"
        completed = await chat.until("tool_call_completed")
        assert completed["status"] == "success"
        assert "chose not to answer" in completed["content"][0]["text"]


async def test_a_question_of_somebody_else_cannot_be_seen_or_answered(tmp_path: Path):
    settings = settings_for(tmp_path, token="operator-secret-0123456789")
    async with serving(settings) as running:
        tokens = running.service.tokens
        ann, _ = await tokens.create("ann", WORK)
        bob, _ = await tokens.create("bob", WORK)
        deaf, _ = await tokens.create("ann", ("tools:call",))
        session, own = running.session(user_id="ann"), running.session(user_id="bob")
        async with running.connect(hello={"auth": {"token": ann}}) as chat:
            await chat.command(type="subscribe", session_id=session.id)
            asked = await ask(chat, session.id)
            async with running.connect(hello={"auth": {"token": bob}}) as other:
                for session_id in (session.id, own.id):
                    refused = await answer(other, asked, session_id=session_id)
                    assert refused["error"]["code"] == "not_found"
            async with running.connect(hello={"auth": {"token": deaf}}) as other:
                assert (await answer(other, asked))["error"]["code"] == "forbidden"
            assert (await answer(chat, asked))["type"] == "ack"


async def test_a_cancelled_run_takes_its_question_back(running: Running):
    session = running.session()
    async with running.connect() as chat:
        await chat.command(type="subscribe", session_id=session.id)
        asked = await ask(chat, session.id)
        await chat.command(
            type="cancel", session_id=session.id, target="run", target_id=asked["run_id"]
        )
        assert (await chat.until("question_answered"))["outcome"] == "cancelled"
        finished = await chat.until("run_finished")
        assert chat.durable()[-1] == finished
        late = await answer(chat, asked)
        assert late["error"]["code"] == "question_closed"


# -- with a model ---------------------------------------------------------------------------


def _model_answers(request: Received) -> Turn:
    """Ask when told to, and repeat whatever comes back."""
    if request.tool_results():
        return Turn(text("Going on."))
    if request.last_user_text() == "ask":
        return Turn(tool_use("ask_user", ASK))
    return Turn(text(f"Heard: {request.last_user_text()}"))


@pytest.fixture
async def talking(tmp_path: Path) -> AsyncIterator[Running]:
    settings: Settings = settings_for(tmp_path, question_ttl_s=0.2)
    async with ScriptedAnthropic(fallback=_model_answers, api_key=KEY) as provider:
        configured = AnthropicSettings(api_key=KEY, base_url=provider.base_url)
        model = AnthropicModel(configured, sleep=Waits())
        async with serving(settings, model=model) as running:
            yield running


@pytest.mark.requirement("D-29")
async def test_an_answer_after_the_time_is_up_becomes_a_message(talking: Running):
    session = talking.session()
    async with talking.connect() as chat:
        await chat.command(type="subscribe", session_id=session.id)
        await chat.command(type="user_message", session_id=session.id, content="ask")
        asked = await chat.until("question_asked")
        assert (await chat.until("question_answered"))["outcome"] == "expired"
        completed = await chat.until("tool_call_completed")
        assert "did not provide a response" in completed["content"][0]["text"]
        await chat.until("run_finished")
        late = (await answer(chat, asked))["result"]
        assert late["outcome"] == "late"
        started = await chat.until("run_started")
        assert started["run_id"] == late["run_id"]
        said = await chat.until("message_completed", lambda m: m["role"] == "user")
        assert said["message_id"] == late["message_id"]
        words = said["content"][0]["text"]
        assert "Which?" in words
        assert "blue" in words
        heard = await chat.until("message_completed", lambda m: m["role"] == "assistant")
        assert "blue" in heard["content"][0]["text"]
        again = await answer(chat, asked, "red")
        assert again["error"]["code"] == "question_already_answered"
