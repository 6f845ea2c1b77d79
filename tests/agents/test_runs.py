"""Runs of a session: one at a time, queued, steered, stopped, and always ended."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from app.config.settings import Settings
from app.core.errors import Busy, NotFound
from app.execution.calls import CallRequest
from tests.agents.office import Office, open_office
from tests.execution.lab import PATIENCE_S, AnyArgs, made
from tests.support.scripted_anthropic.turns import Gate, Turn, text, tool_use


class Slow:
    """A tool that waits to be let go."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self.go = asyncio.Event()

    def tool(self) -> Any:
        async def slow(args: AnyArgs, ctx: Any) -> str:
            self.reached.set()
            await self.go.wait()
            return "slow result"

        return made(slow)


def conversation(messages: list[dict[str, Any]]) -> list[tuple[str, list[str]]]:
    """Roles and what their blocks say."""
    return [
        (
            message["role"],
            [
                block.get("text") or block.get("name") or str(block["content"][0]["text"])
                for block in message["content"]
            ],
        )
        for message in messages
    ]


async def test_a_second_message_is_refused_while_a_run_is_active(settings: Settings):
    gate = Gate()
    async with open_office(settings, Turn(text("a", gate))) as office:
        run_id = await office.say()
        with pytest.raises(Busy) as caught:
            await office.say("me too")
        assert caught.value.details["run_id"] == run_id
        with pytest.raises(Busy):
            await office.call(CallRequest("c1", "calculator", {"expression": "1"}))
        gate.open()
        await office.ended(run_id)


async def test_queued_messages_are_answered_in_order_and_one_can_be_taken_back(settings: Settings):
    gate = Gate()
    turns = [Turn(text("a", gate)), Turn(text("b"))]
    async with open_office(settings, *turns) as office:
        first = await office.say("one")
        dropped = await office.say("dropped", when_busy="queue")
        second = await office.say("two", when_busy="queue", client_message_id="m2")
        assert await office.cancel(dropped) is True
        assert (await office.ended(dropped))["status"] == "cancelled"
        gate.open()
        assert (await office.ended(first))["status"] == "success"
        assert (await office.ended(second))["status"] == "success"
        assert conversation(await office.seen_by_model(2)) == [
            ("user", ["one"]),
            ("assistant", ["a"]),
            ("user", ["two"]),
        ]
        said = office.watcher.of("message_completed", client_message_id="m2")
        assert [message["run_id"] for message in said] == [second]


async def test_steering_while_tools_run_reaches_the_next_turn_and_the_next_run(settings: Settings):
    slow = Slow()
    turns = [
        Turn(tool_use("slow", {}, id="t1")),
        Turn(text("As you wish.")),
        Turn(text("Still here.")),
    ]
    async with open_office(settings, *turns) as office:
        office.add(slow.tool())
        run_id = await office.say("one")
        await slow.reached.wait()
        assert await office.say("shorter please", when_busy="steer") == run_id
        slow.go.set()
        assert (await office.ended(run_id))["status"] == "success"
        expected = [
            ("user", ["one"]),
            ("assistant", ["slow"]),
            ("user", ["slow result", "shorter please"]),
        ]
        assert conversation(await office.seen_by_model(2)) == expected
        await office.ask("next")
        assert conversation(await office.seen_by_model(3)) == [
            *expected,
            ("assistant", ["As you wish."]),
            ("user", ["next"]),
        ]
        assert office.provider.refused == []


async def test_steering_at_the_end_of_an_answer_gets_an_answer_of_its_own(settings: Settings):
    gate = Gate()
    async with open_office(settings, Turn(text("a", gate)), Turn(text("b"))) as office:
        run_id = await office.say("one")
        await gate.reached.wait()
        assert await office.say("two", when_busy="steer") == run_id
        gate.open()
        assert (await office.ended(run_id))["status"] == "success"
        assert conversation(await office.seen_by_model(2))[-1] == ("user", ["two"])


async def test_a_run_that_is_cancelled_before_its_first_step_ends_too(settings: Settings):
    async with open_office(settings, Turn(text("a"))) as office:
        run_id = await office.say()
        assert await office.cancel(run_id) is True
        assert await office.cancel(run_id) is True
        assert (await office.ended(run_id))["status"] == "cancelled"
        assert office.service.runs.active(office.session.id) is None
        assert (await office.ask("again"))["status"] == "success"
        assert await office.cancel("run_none") is False


async def test_direct_calls_are_recorded_and_passed_to_the_model_as_text(settings: Settings):
    async with open_office(settings, Turn(text("I see."))) as office:
        ended = await office.call(
            CallRequest("c1", "calculator", {"expression": "6*7"}),
            CallRequest("c2", "calculator", '{"expression": "1", "password": "hunter2x"}'),
            CallRequest("c3", "calculator", "{"),
        )
        assert (ended["status"], office.watcher.of("run_started")[0]["trigger"]) == (
            "success",
            "direct",
        )
        await office.ask("what came out?")
        ((role, blocks),) = conversation(await office.seen_by_model(1))
        assert role == "user"
        assert blocks[0] == '[I ran the tool calculator myself with {"expression":"6*7"}]'
        assert "42" in blocks[3]
        assert blocks[-1] == "what came out?"
        assert office.provider.refused == []
        rows = await office.runtime.db.transact(lambda t: t.fetch("SELECT content FROM entries"))
        assert "hunter2x" not in str(rows) + str(office.watcher.events)


async def test_a_cancelled_direct_run_records_each_call_once_before_its_end(settings: Settings):
    slow = Slow()
    async with open_office(settings) as office:
        office.add(slow.tool())
        requests = [CallRequest(f"c{n}", "slow", {"number": n}) for n in range(3)]
        run = await office.service.runs.call_tools(office.session, requests, caller="rest")
        await slow.reached.wait()
        await office.cancel(run.id)
        assert (await office.ended(run.id))["status"] == "cancelled"
        kinds = [event["type"] for event in office.watcher.events]
        assert kinds.count("tool_call_started") == kinds.count("tool_call_completed") == 3
        assert kinds[-1] == "run_finished"
        assert [event["status"] for event in office.watcher.of("tool_call_completed")] == [
            "cancelled"
        ] * 3


async def test_a_session_whose_project_is_gone_is_not_busy_afterwards(settings: Settings):
    async with open_office(settings, project_id="prj_gone") as office:
        for _ in range(2):
            with pytest.raises(NotFound, match="Project not found: prj_gone"):
                await office.call(CallRequest("c1", "calculator", {"expression": "1"}))
        assert (await office.ask())["error"]["code"] == "not_found"
        assert office.service.runs.active(office.session.id) is None


async def test_closing_ends_the_active_run_and_keeps_what_was_queued(settings: Settings):
    gate = Gate()
    settings = settings.model_copy(update={"durable_runs": "close"})
    async with open_office(settings, Turn(text("a", gate))) as office:
        first = await office.say("one")
        queued = await office.say("two", when_busy="queue")
        await gate.reached.wait()
    statuses = {event["run_id"]: event["status"] for event in office.watcher.of("run_finished")}
    assert statuses == {first: "interrupted", queued: "interrupted"}
    async with open_office(settings, Turn(text("Both."))) as again:
        session = await again.service.sessions.get(office.session.id)
        assert session is not None
        reopened = Office(again.service, again.provider, session, again.watch(session))
        await reopened.ask("three")
        said = conversation(await reopened.seen_by_model(1))
        assert [words for role, blocks in said if role == "user" for words in blocks] == [
            "one",
            "two",
            "three",
        ]
        numbers = [event["seq"] for event in office.watcher.events if "seq" in event]
        assert numbers == list(range(1, len(numbers) + 1))
        later = [event["seq"] for event in reopened.watcher.events if "seq" in event]
        assert later == list(range(len(numbers) + 1, len(numbers) + len(later) + 1))


async def test_a_branch_leaves_the_other_one_as_it_was(settings: Settings):
    turns = [Turn(text(word)) for word in ("a", "b", "c")]
    async with open_office(settings, *turns) as office:
        await office.ask("one")
        fork = office.session.leaf
        await office.ask("two")
        old_leaf = office.session.leaf
        office.service.sessions.branch(office.session, fork)
        await office.ask("other")
        assert conversation(await office.seen_by_model(3)) == [
            ("user", ["one"]),
            ("assistant", ["a"]),
            ("user", ["other"]),
        ]
        archive = office.service.archive
        assert len(await archive.path(office.session.id, old_leaf)) == 4
        assert len(await archive.path(office.session.id, office.session.leaf)) == 4
        assert len(await archive.entries(office.session.id)) == 6
        assert await archive.path("ses_other", old_leaf) == []
        assert await archive.path(office.session.id, None) == []


async def test_one_session_waits_and_another_goes_on(settings: Settings, tmp_path: Path):
    gate = Gate()
    async with open_office(settings, Turn(text("a", gate)), Turn(text("b"))) as office:
        waiting = await office.say()
        await gate.reached.wait()
        other = office.service.sessions.create(user_id="bob", project_id="default")
        second = Office(office.service, office.provider, other, office.watch(other))
        async with asyncio.timeout(PATIENCE_S):
            assert (await second.ask())["status"] == "success"
        gate.open()
        await office.ended(waiting)


@pytest.mark.requirement("AUD-01", "AUD-02")
async def test_the_audit_holds_each_call_and_is_read_by_session(settings: Settings):
    async with open_office(settings) as office:
        await office.call(
            CallRequest("c1", "calculator", {"expression": "6*7"}),
            CallRequest("c2", "nope", {"token": "hunter2x"}),
        )
        other = office.service.sessions.create(user_id="bob")
        second = Office(office.service, office.provider, other, office.watch(other))
        await second.call(CallRequest("c9", "calculator", {"expression": "1"}))
        calls = await office.service.archive.calls(office.session.id)
        assert [(c.tool_call_id, c.tool_name, c.status, c.success) for c in calls] == [
            ("c1", "calculator", "success", True),
            ("c2", "nope", "error", False),
        ]
        assert calls[0].arguments == '{"expression":"6*7"}'
        assert "hunter2x" not in calls[1].arguments
        assert calls[0].execution_time > 0
        assert {call.session_id for call in calls} == {office.session.id}
        assert len(await office.service.archive.calls(other.id)) == 1


@pytest.mark.parametrize("attended", [True, False])
async def test_a_run_of_calls_knows_who_is_there(settings: Settings, *, attended: bool):
    async with open_office(settings) as office:
        run = await office.service.runs.call_tools(
            office.session,
            [CallRequest("c1", "calculator", {"expression": "1"})],
            caller="rest",
            attended=attended,
        )
        assert run.attended is attended
        await office.ended(run.id)
