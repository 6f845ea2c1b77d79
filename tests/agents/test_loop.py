"""The agent loop: what the model asks for is run, told, and ends well whatever happens."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from app.bootstrap.service import open_service
from app.config.settings import Settings
from app.execution.confirmation.answers import ConfirmationReply
from app.governance.approvals.approver import Approver
from app.toolkit.tool import ToolArgs
from tests.agents.models.exchange import KEY
from tests.agents.office import Office, open_office, settle
from tests.execution.lab import WRITES, AnyArgs, made
from tests.support.scripted_anthropic.server import ScriptedAnthropic
from tests.support.scripted_anthropic.turns import (
    Gate,
    Turn,
    TurnUsage,
    cut,
    http_error,
    stream_error,
    text,
    thinking,
    tool_use,
)


async def echo(args: AnyArgs, ctx: Any) -> str:
    return f"echo {args.text}"


def usage_of(event: dict[str, Any]) -> tuple[int, int]:
    return event["usage"]["input_tokens"], event["usage"]["output_tokens"]


def roles(office: Office) -> list[str]:
    return [event["role"] for event in office.watcher.of("message_completed")]


async def test_a_message_is_answered_streamed_and_kept(settings: Settings):
    async with open_office(settings, Turn(text("Hello there, Ann."))) as office:
        ended = await office.ask("hi")
        assert (ended["status"], ended["stop_reason"]) == ("success", "end_turn")
        assert roles(office) == ["user", "assistant"]
        assert "".join(e["text"] for e in office.watcher.of("text_delta")) == "Hello there, Ann."
        message = office.watcher.of("message_completed")[1]
        assert message["content"] == [{"type": "text", "text": "Hello there, Ann."}]
        assert office.watcher.of("text_delta")[0]["message_id"] == message["message_id"]
        assert office.session.title == "hi"
        assert office.watcher.events[-1]["type"] == "run_finished"


@pytest.mark.requirement("AUD-03", "EXE-12")
async def test_tools_of_one_turn_run_together_and_every_one_is_answered(settings: Settings):
    calls = [tool_use("echo", {"text": "a"}, id="t1"), tool_use("nope", {}, id="t2")]
    turns = [Turn(text("I look."), *calls), Turn(text("Done."))]
    async with open_office(settings, *turns) as office:
        office.add(made(echo))
        assert (await office.ask())["status"] == "success"
        results = (await office.provider.received(2)).tool_results()
        assert results["t1"]["content"] == [{"type": "text", "text": "echo a"}]
        assert (results["t1"]["is_error"], results["t2"]["is_error"]) == (False, True)
        assert roles(office) == ["user", "assistant", "tool", "assistant"]
        entries = await office.service.archive.path(office.session.id, office.session.leaf)
        assert [entry.role for entry in entries] == ["user", "assistant", "tool", "assistant"]


async def test_thinking_is_kept_sent_back_and_usage_is_summed(settings: Settings):
    usage = TurnUsage(10, 5, 2, 1)
    turns = [
        Turn(thinking("Let me see."), tool_use("echo", {"text": "a"}), usage=usage),
        Turn(text("Done."), usage=usage),
    ]
    async with open_office(settings, *turns) as office:
        office.add(made(echo))
        ended = await office.ask()
        assert ended["usage"] == {
            "input_tokens": 20,
            "output_tokens": 10,
            "cache_read_tokens": 4,
            "cache_creation_tokens": 2,
        }
        assistant = (await office.seen_by_model(2))[1]["content"]
        assert assistant[0] == {
            "type": "thinking",
            "thinking": "Let me see.",
            "signature": "EqQBCgIYAhIM",
        }
        deltas = office.watcher.of("thinking_delta")
        assert "".join(event["text"] for event in deltas) == "Let me see."
        rows = await office.service.archive.runs(office.session.id)
        assert '"input_tokens":20' in rows[0].usage


async def test_a_run_stops_at_the_iteration_cap_and_the_next_one_goes_on(settings: Settings):
    turns = [Turn(tool_use("echo", {"number": n})) for n in range(2)] + [Turn(text("Done."))]
    async with open_office(settings.model_copy(update={"max_iterations": 2}), *turns) as office:
        office.add(made(echo))
        assert (await office.ask())["status"] == "max_turns"
        assert (await office.ask("go on"))["status"] == "success"
        assert office.provider.refused == []


async def test_a_refusal_ends_the_run_as_refused(settings: Settings):
    turn = Turn(text("I cannot."), stop="refusal")
    async with open_office(settings, turn, Turn(text("Fine."))) as office:
        assert (await office.ask())["status"] == "refused"
        assert (await office.ask("else?"))["status"] == "success"


async def test_a_call_that_max_tokens_cut_off_is_never_run(settings: Settings):
    ran: list[Any] = []

    async def write(args: ToolArgs, ctx: Any) -> str:
        ran.append(args)
        return "x"

    turn = Turn(
        text("Writing."),
        tool_use("write", raw='{"path": "a', closed=False),
        stop="max_tokens",
    )
    async with open_office(settings, turn, Turn(text("Shorter."))) as office:
        office.add(made(write, **WRITES))
        ended = await office.ask()
        assert (ended["status"], ended["error"]["code"]) == ("error", "model_failed")
        assert "TOLLGATE_MAX_TOKENS" in ended["error"]["message"]
        assert (ran, office.watcher.of("tool_call_started")) == ([], [])
        assert (await office.ask("again"))["status"] == "success"


@pytest.mark.requirement("VAL-08")
async def test_input_that_is_no_json_fails_that_call_and_its_sibling_runs(settings: Settings):
    calls = [
        tool_use("echo", raw='{"text": ', id="t1"),
        tool_use("echo", {"text": "b"}, id="t2"),
    ]
    async with open_office(settings, Turn(*calls), Turn(text("Sorry."))) as office:
        office.add(made(echo))
        assert (await office.ask())["status"] == "success"
        results = (await office.provider.received(2)).tool_results()
        assert "Invalid JSON arguments" in results["t1"]["content"][0]["text"]
        assert results["t2"]["content"][0]["text"] == "echo b"


FAILURES = [
    (Turn(text("Hel", cut(abrupt=True))), "Hel"),
    (Turn(text("Hel", stream_error())), "Hel"),
    (http_error(401), None),
    (http_error(429), None),
    (http_error(529), None),
    (http_error(400), None),
]


@pytest.mark.parametrize(("answer", "kept"), FAILURES, ids=lambda value: type(value).__name__)
async def test_a_failing_provider_ends_the_run_and_the_next_one_works(
    settings: Settings, answer: Any, kept: str | None
):
    async with open_office(settings, answer, answer, answer) as office:
        ended = await office.ask()
        assert (ended["status"], ended["error"]["code"]) == ("error", "model_failed")
        assert KEY not in str(office.watcher.events)
        partial = [e for e in office.watcher.of("message_completed") if e["role"] == "assistant"]
        assert [e["content"][0]["text"] for e in partial] == ([kept] if kept else [])
        asked = len(office.provider.requests)
        while office.provider.remaining:
            await office.ask("again")
        office.provider.script(Turn(text("Back.")))
        assert (await office.ask("and now"))["status"] == "success"
        assert len(office.provider.requests) > asked
        assert office.provider.refused == []


async def test_without_a_key_the_run_says_what_to_set(settings: Settings):
    async with ScriptedAnthropic() as provider, open_service(settings) as service:
        office = settle(service, provider)
        ended = await office.ask()
        assert ended["error"]["details"]["provider_code"] == "no_model_key"
        assert "ANTHROPIC_API_KEY" in ended["error"]["message"]


async def test_cancelling_while_the_model_writes_keeps_what_it_wrote(settings: Settings):
    gate = Gate()
    turns = [Turn(text("Half a sen", gate, "tence.")), Turn(text("Whole."))]
    async with open_office(settings, *turns) as office:
        run_id = await office.say()
        await gate.reached.wait()
        await office.watcher.until("text_delta")
        assert await office.cancel(run_id) is True
        assert (await office.ended(run_id))["status"] == "cancelled"
        await (await office.provider.received(1)).closed_by_client.wait()
        assert office.watcher.of("message_completed")[1]["content"][0]["text"] == "Half a sen"
        assert (await office.ask("again"))["status"] == "success"
        assert await office.cancel(run_id) is False


async def test_cancelling_while_tools_run_answers_each_call(settings: Settings):
    reached = asyncio.Event()

    async def hangs(args: AnyArgs, ctx: Any) -> str:
        reached.set()
        await asyncio.Event().wait()
        return ""

    calls = [
        tool_use("hangs", {}, id="t1"),
        tool_use("echo", {"text": "b"}, id="t2"),
    ]
    async with open_office(settings, Turn(*calls), Turn(text("Fine."))) as office:
        office.add(made(echo), made(hangs))
        run_id = await office.say()
        await reached.wait()
        await office.watcher.until("tool_call_completed", tool_call_id="t2")
        await office.cancel(run_id)
        ended = await office.ended(run_id)
        assert ended["status"] == "cancelled"
        assert office.watcher.of("tool_call_completed", tool_call_id="t1")[0]["status"] == (
            "cancelled"
        )
        assert (await office.ask("and now?"))["status"] == "success"
        assert office.provider.refused == []
        results = (await office.provider.received(2)).tool_results()
        assert results["t2"]["content"][0]["text"] == "echo b"
        assert "cancelled" in results["t1"]["content"][0]["text"]


@pytest.mark.requirement("D-5")
async def test_the_turn_goes_on_after_a_person_declined(settings: Settings):
    turns = [Turn(tool_use("send", {}, id="t1")), Turn(text("Then not."))]
    async with open_office(settings, *turns) as office:

        async def send(args: AnyArgs, ctx: Any) -> str:
            return "sent"

        office.add(made(send, requires_confirmation=True, **WRITES))
        run_id = await office.say()
        asked = await office.watcher.until("tool_confirmation_request")
        await office.runtime.confirmations.answer(
            asked["confirmation_id"],
            ConfirmationReply("decline", asked["digest"]),
            Approver("ann"),
        )
        assert (await office.ended(run_id))["status"] == "success"
        results = (await office.provider.received(2)).tool_results()
        assert "declined" in results["t1"]["content"][0]["text"]


@pytest.mark.requirement("GOV-04", "GOV-07")
async def test_a_switched_off_tool_and_its_hint_are_not_offered_from_the_next_turn_on(
    settings: Settings,
):
    async with open_office(settings, Turn(text("a")), Turn(text("b"))) as office:
        await office.runtime.db.transact(
            lambda t: t.execute("UPDATE tools SET prompt_hint = 'prefer grep' WHERE name = 'bash'")
        )
        await office.runtime.governance.sync(office.runtime.registry.snapshot())
        await office.ask()
        await office.runtime.governance.set_enabled("bash", enabled=False)
        await office.ask()
        first, second = office.provider.requests
        assert ("bash" in first.tool_names, "bash" in second.tool_names) == (True, False)
        assert ("prefer grep" in str(first.body["system"])) is True
        assert ("prefer grep" in str(second.body["system"])) is False
        assert office.runtime.settings.workspace_dir.name in str(first.body["system"])
