"""Replay and live output: nothing missed, nothing doubled."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from app.agents.sessions import Session
from tests.support.service import Chat, Running, serving, settings_for


async def calculate(chat: Chat, session: Session, expression: str) -> None:
    """One finished direct run: six durable events."""
    await chat.command(
        type="tool_call",
        session_id=session.id,
        name="calculator",
        arguments={"expression": expression},
    )
    await chat.until("run_finished")


def seqs(chat: Chat) -> list[int]:
    return [event["seq"] for event in chat.durable()]


async def test_a_late_client_sees_what_happened_before_it_came(running: Running):
    session = running.session()
    async with running.connect() as first:
        await first.command(type="subscribe", session_id=session.id)
        await calculate(first, session, "1+1")
        async with running.connect() as late:
            answer = await late.command(type="subscribe", session_id=session.id)
            await late.until("run_finished")

    assert (answer["recovered"], answer["head"], answer["replay_from"]) == (True, 6, 1)
    assert late.durable() == first.durable()
    assert seqs(late) == [1, 2, 3, 4, 5, 6]


async def test_a_client_resumes_after_the_last_event_it_saw(running: Running):
    session = running.session()
    async with running.connect() as first:
        await first.command(type="subscribe", session_id=session.id)
        await calculate(first, session, "1+1")
    async with running.connect() as again:
        await again.command(type="subscribe", session_id=session.id, epoch=session.epoch, after=4)
        await again.until("run_finished")

    assert seqs(again) == [5, 6]


async def test_events_beyond_the_ring_come_from_the_database(tmp_path: Path):
    async with serving(settings_for(tmp_path, event_buffer_size=10)) as running:
        session = running.session()
        async with running.connect() as first:
            await first.command(type="subscribe", session_id=session.id)
            for number in range(5):
                await calculate(first, session, f"1+{number}")
            async with running.connect() as late:
                await late.command(type="subscribe", session_id=session.id)
                await late.until("run_finished", lambda event: event["seq"] == 30)

    assert seqs(late) == list(range(1, 31))
    assert late.durable() == first.durable()


async def test_events_written_while_the_database_is_read_follow_without_a_gap(tmp_path: Path):
    async with serving(settings_for(tmp_path, event_buffer_size=10)) as running:
        session = running.session()
        async with running.connect() as writer:
            for number in range(5):
                await writer.command(
                    type="tool_call",
                    session_id=session.id,
                    name="calculator",
                    arguments={"expression": f"2*{number}"},
                )
                if (run := running.service.runs.active(session.id)) is not None:
                    await run.done
            async with running.connect() as late:
                # The call is sent without waiting for the answer to the subscription.
                await late.send({"type": "subscribe", "id": "s", "session_id": session.id})
                await late.send(
                    {
                        "type": "tool_call",
                        "id": "t",
                        "session_id": session.id,
                        "name": "calculator",
                        "arguments": {"expression": "7*6"},
                    }
                )
                await late.until("run_finished", lambda event: event["seq"] == 36)

    assert seqs(late) == list(range(1, 37))


@pytest.mark.parametrize(
    "position", [{"epoch": "ep_other", "after": 1}, {"after": 99}, {"after": 0}]
)
async def test_a_position_that_cannot_be_recovered_says_so(
    tmp_path: Path, position: dict[str, Any]
):
    async with serving(settings_for(tmp_path, replay_limit=5)) as running:
        session = running.session()
        async with running.connect() as chat:
            await chat.command(type="subscribe", session_id=session.id)
            await calculate(chat, session, "1+1")
        async with running.connect() as late:
            answer = await late.command(type="subscribe", session_id=session.id, **position)
            await calculate(late, session, "2+2")

    assert (answer["recovered"], answer["replay_from"]) == (False, 7)
    assert seqs(late) == list(range(7, 13))


async def test_a_session_survives_the_service(tmp_path: Path):
    async with serving(settings_for(tmp_path)) as running:
        session = running.session()
        async with running.connect() as chat:
            await chat.command(type="subscribe", session_id=session.id)
            await calculate(chat, session, "1+1")
    async with serving(settings_for(tmp_path)) as running, running.connect() as later:
        await later.command(type="subscribe", session_id=session.id, epoch=session.epoch)
        await calculate(later, session, "2+2")
        await later.until("run_finished", lambda event: event["seq"] == 12)

    assert seqs(later) == list(range(1, 13))
    assert later.durable()[:6] == chat.durable()


async def test_a_client_that_joins_a_running_call_sees_its_output_so_far(running: Running):
    session = running.session()
    release = running.service.settings.workspace_dir / "go"
    command = "echo before; while [ ! -e go ]; do sleep 0.01; done; echo after"
    async with running.connect() as first:
        await first.command(type="subscribe", session_id=session.id)
        await first.command(
            type="tool_call", session_id=session.id, name="bash", arguments={"command": command}
        )
        await first.until("tool_result_streamed")
        async with running.connect() as late:
            answer = await late.command(type="subscribe", session_id=session.id)
            snapshot = await late.until("tool_result_streamed")
            release.touch()
            rest = await late.until("tool_result_streamed")
            await late.until("run_finished")

    assert len(answer["running_calls"]) == 1
    assert (snapshot["snapshot"], snapshot["text"]) == (True, "before\n")
    assert (rest["text"], rest["chunk_from"]) == ("after\n", snapshot["chunk_to"])


async def test_live_output_can_be_declined(running: Running):
    session = running.session()
    async with running.connect() as chat:
        await chat.command(type="subscribe", session_id=session.id, ephemerals=False)
        await chat.command(
            type="tool_call",
            session_id=session.id,
            name="bash",
            arguments={"command": "echo hi"},
        )
        completed = await chat.until("tool_call_completed")
        await chat.until("run_finished")

    assert "hi" in completed["content"][0]["text"]
    assert chat.events("tool_result_streamed") == []


async def test_after_unsubscribing_nothing_comes(running: Running):
    session = running.session()
    async with running.connect() as chat, running.connect() as other:
        await chat.command(type="subscribe", session_id=session.id)
        await chat.command(type="unsubscribe", session_id=session.id)
        await other.command(type="subscribe", session_id=session.id)
        await calculate(other, session, "1+1")
        await chat.command(type="ping")

    assert chat.durable() == []


async def test_heartbeats_show_how_far_each_session_is(tmp_path: Path):
    async with serving(settings_for(tmp_path, heartbeat_s=0.02)) as running:
        session = running.session()
        async with running.connect() as chat:
            await chat.command(type="subscribe", session_id=session.id)
            await calculate(chat, session, "1+1")
            beat = await chat.until("heartbeat", lambda m: m["heads"].get(session.id) == 6)

    assert beat["heads"] == {session.id: 6}
