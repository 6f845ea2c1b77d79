"""Runs, confirmations and cancellation as a client sees them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from app.agents.sessions import Session
from tests.support.scripted_anthropic.server import ScriptedAnthropic
from tests.support.scripted_anthropic.turns import Gate, Turn, text, thinking, tool_use
from tests.support.service import Chat, Message, Running, serving, settings_for


@pytest.fixture
async def provider() -> AsyncIterator[ScriptedAnthropic]:
    async with ScriptedAnthropic() as provider:
        yield provider


@pytest.fixture
async def with_model(tmp_path: Path, provider: ScriptedAnthropic) -> AsyncIterator[Running]:
    settings = settings_for(
        tmp_path, anthropic_api_key="test-key-of-the-suite", anthropic_base_url=provider.base_url
    )
    async with serving(settings) as running:
        yield running


async def bash(chat: Chat, session: Session, command: str) -> Message:
    """Start a direct call; its acknowledgement."""
    return await chat.command(
        type="tool_call", session_id=session.id, name="bash", arguments={"command": command}
    )


def is_alive(pid: str) -> bool:
    return Path(f"/proc/{pid}").exists()


def answer(request: Message, option: str, **fields: Any) -> Message:
    return {
        "type": "tool_confirmation_response",
        "session_id": request["session_id"],
        "confirmation_id": request["confirmation_id"],
        "option_id": option,
        "digest": request["digest"],
        **fields,
    }


@pytest.mark.requirement("EVT-01", "EVT-03", "EXE-12", "STR-06")
async def test_a_turn_streams_text_runs_its_tools_and_ends(
    with_model: Running, provider: ScriptedAnthropic
):
    provider.script(
        Turn(
            thinking("hmm", "sig"),
            text("Let me ", "look."),
            tool_use("bash", {"command": "echo one"}, id="toolu_1"),
            tool_use("calculator", {"expression": "6*7"}, id="toolu_2"),
        ),
        Turn(text("The answer is 42.")),
    )
    session = with_model.session()
    async with with_model.connect() as chat:
        await chat.command(type="subscribe", session_id=session.id)
        await chat.command(type="user_message", session_id=session.id, content="Work.")
        finished = await chat.until("run_finished")

    assert finished["status"] == "success"
    assert finished["usage"]["output_tokens"] > 0
    assert "".join(m["text"] for m in chat.events("text_delta")) == "Let me look.The answer is 42."
    assert "".join(m["text"] for m in chat.events("thinking_delta")) == "hmm"
    for call_id, shown in (("toolu_1", "one"), ("toolu_2", "42")):
        mine = [m for m in chat.events() if m.get("tool_call_id") == call_id]
        kinds = [m["type"] for m in mine if m["type"] != "tool_input_delta"]
        assert kinds[0] == "tool_call_started"
        assert kinds[-1] == "tool_call_completed"
        assert set(kinds[1:-1]) <= {"tool_result_streamed"}
        assert len({m["operation_id"] for m in mine if m["type"] != "tool_input_delta"}) == 1
        assert shown in mine[-1]["content"][0]["text"]
    roles = [m["role"] for m in chat.events("message_completed")]
    assert roles == ["user", "assistant", "tool", "assistant"]
    assert provider.requests[1].tool_results()


async def test_without_a_model_key_the_run_ends_with_the_reason(running: Running):
    session = running.session()
    async with running.connect() as chat:
        await chat.command(type="subscribe", session_id=session.id)
        await chat.command(type="user_message", session_id=session.id, content="Hello?")
        finished = await chat.until("run_finished")

    assert finished["status"] == "error"
    assert finished["error"]["details"]["provider_code"] == "no_model_key"
    assert "ANTHROPIC_API_KEY" in finished["error"]["message"]


@pytest.mark.parametrize(
    "call",
    [
        {"name": "calculator", "arguments": {"expression": "2+3"}, "tool_call_id": "mine"},
        {
            "calls": [
                {
                    "id": "mine",
                    "type": "function",
                    "function": {"name": "calculator", "arguments": '{"expression": "2+3"}'},
                }
            ]
        },
        {
            "calls": [
                {
                    "type": "tool_use",
                    "id": "mine",
                    "name": "calculator",
                    "input": {"expression": "2+3"},
                }
            ]
        },
    ],
)
async def test_a_direct_call_takes_the_same_path_in_every_shape(
    running: Running, call: dict[str, Any]
):
    session = running.session()
    async with running.connect() as chat:
        await chat.command(type="subscribe", session_id=session.id)
        ack = await chat.command(type="tool_call", session_id=session.id, **call)
        completed = await chat.until("tool_call_completed")
        finished = await chat.until("run_finished")

    assert ack["result"]["tool_call_ids"] == ["mine"]
    assert (completed["status"], completed["content"][0]["text"]) == ("success", "5")
    assert (finished["status"], chat.durable()[0]["trigger"]) == ("success", "direct")


@pytest.mark.requirement("CNF-02", "CNF-03")
async def test_nothing_happens_before_the_answer_and_nothing_after_a_no(running: Running):
    session = running.session()
    victim = running.service.settings.workspace_dir / "victim"
    victim.write_text("precious")
    async with running.connect() as chat:
        await chat.command(type="subscribe", session_id=session.id)
        await bash(chat, session, "rm victim")
        request = await chat.until("tool_confirmation_request")
        still_there = victim.exists()
        reply = await chat.command(**answer(request, "decline", message="keep it"))
        completed = await chat.until("tool_call_completed")
        await chat.until("run_finished")

    assert request["subject"]["command"] == "rm victim"
    assert (still_there, victim.exists()) == (True, True)
    assert reply["result"] == {"outcome": "declined"}
    assert completed["status"] == "declined"
    assert "keep it" in completed["content"][0]["text"]


async def test_a_yes_runs_the_call_once(running: Running):
    session = running.session()
    victim = running.service.settings.workspace_dir / "victim"
    victim.write_text("x")
    async with running.connect() as chat:
        await chat.command(type="subscribe", session_id=session.id)
        await bash(chat, session, "rm victim && echo gone >> log")
        request = await chat.until("tool_confirmation_request")
        await chat.command(**answer(request, "approve_once"))
        completed = await chat.until("tool_call_completed")

    assert completed["status"] == "success"
    assert not victim.exists()
    assert (running.service.settings.workspace_dir / "log").read_text() == "gone\n"


async def test_of_two_clients_the_first_answer_wins_and_both_see_it(running: Running):
    session = running.session()
    async with running.connect() as one, running.connect() as two:
        for chat in (one, two):
            await chat.command(type="subscribe", session_id=session.id)
        await bash(one, session, "rm -f nothing")
        request = await one.until("tool_confirmation_request")
        await two.until("tool_confirmation_request")
        replies = await asyncio.gather(
            one.command(**answer(request, "approve_once")),
            two.command(**answer(request, "decline")),
        )
        seen = [await chat.until("tool_confirmation_resolved") for chat in (one, two)]
        await one.until("run_finished")

    kinds = sorted(reply["type"] for reply in replies)
    refused = next(reply for reply in replies if reply["type"] == "error")
    assert kinds == ["ack", "error"]
    assert refused["error"]["code"] == "confirmation_already_resolved"
    assert seen[0] == seen[1]
    assert len(one.events("tool_call_completed")) == 1


@pytest.mark.requirement("D-4")
async def test_a_question_is_still_open_after_a_reconnect(running: Running):
    session = running.session()
    async with running.connect() as chat:
        await chat.command(type="subscribe", session_id=session.id)
        await bash(chat, session, "rm -f nothing")
        request = await chat.until("tool_confirmation_request")
    async with running.connect() as again:
        subscribed = await again.command(
            type="subscribe", session_id=session.id, after=request["seq"]
        )
        pending = subscribed["pending_confirmations"]
        open_request = {"session_id": session.id, **pending[0]}
        await again.command(**answer(open_request, "approve_once"))
        completed = await again.until("tool_call_completed")

    assert [item["confirmation_id"] for item in pending] == [request["confirmation_id"]]
    assert completed["status"] == "success"


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"digest": "0" * 64}, "digest_mismatch"),
        ({"option_id": "approve_agent"}, "validation_failed"),
        ({"confirmation_id": "cfm_unknown"}, "not_found"),
    ],
)
async def test_an_answer_that_does_not_fit_is_refused_and_the_question_stays_open(
    running: Running, change: dict[str, str], code: str
):
    session = running.session()
    async with running.connect() as chat:
        await chat.command(type="subscribe", session_id=session.id)
        await bash(chat, session, "rm -f nothing")
        request = await chat.until("tool_confirmation_request")
        refused = await chat.command(**{**answer(request, "approve_once"), **change})
        accepted = await chat.command(**answer(request, "decline"))

    assert refused["error"]["code"] == code
    assert accepted["result"] == {"outcome": "declined"}


async def test_the_floor_is_denied_without_a_question(running: Running):
    session = running.session()
    async with running.connect() as chat:
        await chat.command(type="subscribe", session_id=session.id)
        await bash(chat, session, "rm -rf /")
        completed = await chat.until("tool_call_completed")

    assert completed["status"] == "denied"
    assert chat.events("tool_confirmation_request") == []


async def test_losing_the_socket_is_not_a_cancel(running: Running):
    session = running.session()
    workspace = running.service.settings.workspace_dir
    async with running.connect() as chat:
        await chat.command(type="subscribe", session_id=session.id)
        await bash(chat, session, "while [ ! -e go ]; do sleep 0.01; done; echo finished")
        await chat.until("tool_call_started")
    (workspace / "go").touch()
    async with running.connect() as again:
        await again.command(type="subscribe", session_id=session.id)
        completed = await again.until("tool_call_completed")

    assert completed["status"] == "success"
    assert "finished" in completed["content"][0]["text"]


async def test_anybody_may_cancel_a_run_and_its_processes_die(running: Running):
    session = running.session()
    async with running.connect() as one, running.connect() as two:
        for chat in (one, two):
            await chat.command(type="subscribe", session_id=session.id)
        ack = await bash(one, session, "echo $$ > pid; echo begun; sleep 60")
        await one.until("tool_result_streamed")
        pid_file = running.service.settings.workspace_dir / "pid"
        run_id = ack["result"]["run_id"]
        await two.command(type="cancel", session_id=session.id, target="run", target_id=run_id)
        completed = await one.until("tool_call_completed")
        finished = await one.until("run_finished")
        again = await two.command(
            type="cancel", session_id=session.id, target="run", target_id=run_id
        )

    assert (completed["status"], finished["status"]) == ("cancelled", "cancelled")
    assert again["result"] == {"already_finished": True}
    assert not is_alive(pid_file.read_text().strip())


async def test_cancelling_while_a_question_is_open_resolves_it_first(running: Running):
    session = running.session()
    async with running.connect() as chat:
        await chat.command(type="subscribe", session_id=session.id)
        ack = await bash(chat, session, "rm -f nothing")
        request = await chat.until("tool_confirmation_request")
        await chat.command(
            type="cancel",
            session_id=session.id,
            target="run",
            target_id=ack["result"]["run_id"],
        )
        await chat.until("run_finished")
        late = await chat.command(**answer(request, "approve_once"))

    kinds = [m["type"] for m in chat.durable()]
    tail = ["tool_confirmation_resolved", "tool_call_completed", "run_finished"]
    assert [kind for kind in kinds if kind in tail] == tail
    assert chat.events("tool_confirmation_resolved")[0]["outcome"] == "cancelled"
    assert late["type"] == "error"


async def test_cancelling_one_call_leaves_its_siblings_alone(running: Running):
    session = running.session()
    calls = [
        {"id": "slow", "name": "bash", "arguments": {"command": "sleep 60"}},
        {"id": "quick", "name": "bash", "arguments": {"command": "echo quick"}},
    ]
    async with running.connect() as chat:
        await chat.command(type="subscribe", session_id=session.id)
        await chat.command(type="tool_call", session_id=session.id, calls=calls)
        await chat.until("tool_call_completed", lambda m: m["tool_call_id"] == "quick")
        await chat.command(type="cancel", session_id=session.id, target="call", target_id="slow")
        finished = await chat.until("run_finished")

    statuses = {m["tool_call_id"]: m["status"] for m in chat.events("tool_call_completed")}
    assert statuses == {"slow": "cancelled", "quick": "success"}
    assert finished["status"] == "success"


async def test_a_second_message_is_refused_queued_or_steers(
    with_model: Running, provider: ScriptedAnthropic
):
    gate = Gate()
    provider.script(Turn(text("one ", gate, "done")), Turn(text("steered")), Turn(text("queued")))
    session = with_model.session()
    say = {"type": "user_message", "session_id": session.id}
    async with with_model.connect() as chat:
        await chat.command(type="subscribe", session_id=session.id)
        first = await chat.command(**say, content="first")
        await gate.reached.wait()
        refused = await chat.command(**say, content="second")
        steered = await chat.command(**say, content="and this", when_busy="steer")
        queued = await chat.command(**say, content="later", when_busy="queue")
        gate.open()
        for _ in range(2):
            await chat.until("run_finished")

    assert refused["error"]["code"] == "busy"
    assert steered["result"]["run_id"] == first["result"]["run_id"]
    assert queued["result"]["run_id"] != first["result"]["run_id"]
    assert provider.requests[1].last_user_text() == "and this"
    assert provider.requests[2].last_user_text() == "later"


async def test_a_repeated_command_is_carried_out_once(running: Running):
    session = running.session()
    command = {
        "type": "tool_call",
        "id": "same",
        "session_id": session.id,
        "name": "bash",
        "arguments": {"command": "echo x >> log"},
    }
    async with running.connect() as chat, running.connect() as other:
        await chat.command(type="subscribe", session_id=session.id)
        await chat.send(command)
        first = await chat.answer_to("same")
        await chat.until("run_finished")
        await other.send(command)
        second = await other.answer_to("same")
        await other.send({**command, "arguments": {"command": "echo y"}})
        conflict = await other.answer_to("same")

    assert (first["duplicate"], second["duplicate"]) == (False, True)
    assert second["result"] == first["result"]
    assert conflict["error"]["code"] == "conflict"
    assert (running.service.settings.workspace_dir / "log").read_text() == "x\n"


async def test_one_users_session_is_nobody_elses(tmp_path: Path):
    async with serving(settings_for(tmp_path, token="the-admin-token")) as running:
        mine, _ = await running.service.tokens.create("alice", ("chat", "tools:call"))
        theirs, _ = await running.service.tokens.create("bob", ("chat", "tools:call"))
        session = running.session(user_id="alice")
        async with (
            running.connect(hello={"auth": {"token": mine}}) as alice,
            running.connect(hello={"auth": {"token": theirs}}) as bob,
        ):
            seen = await alice.command(type="subscribe", session_id=session.id)
            hidden = await bob.command(type="subscribe", session_id=session.id)
            missing_scope = await alice.command(
                type="tool_confirmation_response",
                session_id=session.id,
                confirmation_id="cfm_1",
                option_id="approve_once",
                digest="d",
            )

    assert seen["type"] == "subscribed"
    assert hidden["error"]["code"] == "not_found"
    assert missing_scope["error"]["code"] == "forbidden"


async def test_a_command_whose_socket_was_lost_is_found_again_not_started_twice(running: Running):
    session = running.session()
    await running.service.db.flush()
    command = {
        "type": "tool_call",
        "session_id": session.id,
        "name": "bash",
        "arguments": {"command": "echo x >> log"},
    }
    for number in range(10):
        async with running.connect() as lost:
            await lost.send({**command, "id": f"lost-{number}"})
            # Without a closing handshake, while the command is being carried out.
            lost.socket.transport.abort()
        async with running.connect() as again:
            await again.command(type="subscribe", session_id=session.id)
            await again.send({**command, "id": f"lost-{number}"})
            await again.answer_to(f"lost-{number}")
            while (run := running.service.runs.active(session.id)) is not None:
                await run.done

    assert (running.service.settings.workspace_dir / "log").read_text() == "x\n" * 10


async def test_what_was_said_to_a_run_that_ended_is_answered_by_the_next(
    with_model: Running, provider: ScriptedAnthropic
):
    gate = Gate()
    provider.script(
        Turn(text("I will not ", gate, "do that."), stop="refusal"), Turn(text("Hello again."))
    )
    session = with_model.session()
    say = {"type": "user_message", "session_id": session.id}
    async with with_model.connect() as chat:
        await chat.command(type="subscribe", session_id=session.id)
        await chat.command(**say, content="first")
        await gate.reached.wait()
        await chat.command(**say, content="are you there?", when_busy="steer")
        gate.open()
        ends = [(await chat.until("run_finished"))["status"] for _ in range(2)]

    assert ends == ["refused", "success"]
    assert provider.requests[1].last_user_text() == "are you there?"


async def test_a_stop_of_something_unknown_has_nothing_to_stop(running: Running):
    session = running.session()
    async with running.connect() as chat:
        for target in ("run", "call", "operation"):
            answer = await chat.command(
                type="cancel", session_id=session.id, target=target, target_id="nothing"
            )
            assert answer["result"] == {"already_finished": True}
