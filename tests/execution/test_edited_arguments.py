"""Approving with other arguments: checked like any others, told to the model, run once."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from app.config.settings import Settings
from app.core.errors import InvalidInput
from app.core.redaction import MASK
from app.execution.calls import CallRequest
from app.execution.hooks.model import HookAction, HookConfig, HookContext, HookResult, HookType
from app.toolkit.tool import ToolArgs
from tests.execution.lab import WRITES, Lab, bare_lab, made


class LoginArgs(ToolArgs):
    """Arguments with something to hide."""

    user: str
    password: str = ""
    note: str = ""


def add_login(lab: Lab) -> list[LoginArgs]:
    ran: list[LoginArgs] = []

    async def login(args: LoginArgs, ctx: Any) -> str:
        ran.append(args)
        return f"in as {args.user}"

    lab.add(made(login, requires_confirmation=True, **WRITES))
    return ran


def start(lab: Lab, **arguments: Any) -> Any:
    return asyncio.create_task(lab.run(CallRequest("c1", "login", arguments)))


async def test_the_call_runs_with_the_arguments_a_person_put_in_place(lab: Lab):
    ran = add_login(lab)
    running = start(lab, user="bob")
    asked = await lab.watcher.until("tool_confirmation_request")
    assert asked["editable"] is True
    assert set(asked["response_schema"]["properties"]) == {"user", "password", "note"}
    await lab.answer("approve_once", edited_args={"user": "ann"})
    (outcome,) = await running
    assert [args.user for args in ran] == ["ann"]
    assert outcome.text.startswith("A person changed the arguments before approving the call.")
    assert '"user":"ann"' in outcome.text
    assert outcome.text.endswith("in as ann")
    assert lab.watcher.of("tool_confirmation_resolved")[0]["edited_args"] == {"user": "ann"}
    rows = await lab.rows("SELECT arguments FROM tool_calls")
    assert rows == [('{"user":"ann"}',)]
    # The row says that there were some, and no more once the call has begun.
    assert await lab.rows("SELECT call, edited_args FROM confirmations") == [("{}", "{}")]


async def test_what_a_person_wrote_is_not_kept_when_the_call_is_cancelled(lab: Lab):
    add_login(lab)
    running = start(lab, user="bob")
    asked = await lab.watcher.until("tool_confirmation_request")
    # Answered, and cancelled before the waiting call has taken the answer.
    answering = asyncio.create_task(
        lab.answer("approve_once", asked, edited_args={"user": "ann", "password": "hunter2x"})
    )
    await lab.watcher.until("tool_confirmation_resolved")
    running.cancel()
    await asyncio.gather(running, answering, return_exceptions=True)
    await lab.runtime.db.flush()
    for (kept,) in await lab.rows("SELECT edited_args FROM confirmations"):
        assert "hunter2x" not in kept


SHOWN = [
    ("none", True),
    ("shape", {"user": "string(3)", "password": "string(8)"}),
    ("redacted", {"user": "ann", "password": MASK}),
    ("full", {"user": "ann", "password": "hunter2x"}),
]


@pytest.mark.parametrize(("level", "shown"), SHOWN, ids=[level for level, _ in SHOWN])
async def test_the_audit_keeps_what_a_person_wrote_as_it_keeps_all_arguments(
    settings: Settings, level: str, shown: Any
):
    async with bare_lab(settings.model_copy(update={"audit_detail": level})) as lab:
        add_login(lab)
        running = start(lab, user="bob")
        await lab.watcher.until("tool_confirmation_request")
        await lab.answer("approve_once", edited_args={"user": "ann", "password": "hunter2x"})
        await running
        found = await lab.rows("SELECT detail FROM audit WHERE kind = 'confirmation.answered'")
    detail = json.loads(found[0][0])
    assert detail == {"option_id": "approve_once", "edited_args": shown}


async def test_what_is_left_as_it_was_shown_stays_what_it_really_is(lab: Lab):
    ran = add_login(lab)
    running = start(lab, user="bob", password="hunter2hunter2", note="a\u202eb")
    asked = await lab.watcher.until("tool_confirmation_request")
    shown = asked["subject"]["args"]
    assert shown == {"user": "bob", "password": MASK, "note": "a\\u202eb"}
    await lab.answer("approve_once", edited_args={**shown, "user": "ann"})
    await running
    assert ran == [LoginArgs(user="ann", password="hunter2hunter2", note="a\u202eb")]


REFUSED: list[dict[str, Any]] = [
    {"user": 7},
    {"user": "ann", "more": 1},
    {},
    {"user": MASK},
]


@pytest.mark.parametrize("edited", REFUSED, ids=str)
async def test_arguments_that_do_not_fit_are_refused_and_the_question_stays(
    lab: Lab, edited: dict[str, Any]
):
    ran = add_login(lab)
    running = start(lab, user="bob")
    await lab.watcher.until("tool_confirmation_request")
    with pytest.raises(InvalidInput):
        await lab.answer("approve_once", edited_args=edited)
    assert await lab.rows("SELECT status FROM confirmations") == [("pending",)]
    await lab.answer("approve_once")
    await running
    assert [args.user for args in ran] == ["bob"]


async def test_other_arguments_go_with_a_single_approval_only(lab: Lab):
    add_login(lab)
    running = start(lab, user="bob")
    await lab.watcher.until("tool_confirmation_request")
    for option in ("approve_session", "decline"):
        with pytest.raises(InvalidInput, match="approved for this call only"):
            await lab.answer(option, edited_args={"user": "ann"})
    await lab.answer("decline")
    await running


async def test_arguments_that_policy_denies_are_refused_with_its_reason(house: Lab):
    request = CallRequest("c1", "bash", {"command": "rm -f nothing"})
    running = asyncio.create_task(house.run(request))
    await house.watcher.until("tool_confirmation_request")
    with pytest.raises(InvalidInput, match="Denied by policy"):
        await house.answer("approve_once", edited_args={"command": "rm -rf /"})
    await house.answer("approve_once", edited_args={"command": "rm -f other; echo edited"})
    (outcome,) = await running
    assert outcome.success
    assert "edited" in outcome.text


async def test_hooks_see_the_arguments_a_person_put_in_place(lab: Lab):
    async def no_root(context: HookContext) -> HookResult:
        denied = context.arguments["user"] == "root"
        return HookResult(HookAction.DENY if denied else HookAction.CONTINUE, "not as root")

    lab.runtime.hooks.register(HookConfig("no_root", HookType.PRE_TOOL_USE, no_root))
    ran = add_login(lab)
    running = start(lab, user="bob")
    await lab.watcher.until("tool_confirmation_request")
    with pytest.raises(InvalidInput, match="not as root"):
        await lab.answer("approve_once", edited_args={"user": "root"})
    await lab.answer("approve_once", edited_args={"user": "ann"})
    await running
    assert [args.user for args in ran] == ["ann"]


class NumberArgs(ToolArgs):
    """A number that few readers of JSON can hold."""

    id: int
    note: str = ""


async def test_a_number_that_a_client_would_round_is_shown_as_it_is_and_kept(lab: Lab):
    ran: list[NumberArgs] = []

    async def remove(args: NumberArgs, ctx: Any) -> str:
        ran.append(args)
        return "gone"

    lab.add(made(remove, requires_confirmation=True, **WRITES))
    number = 1234567890123456789
    call = CallRequest("c1", "remove", {"id": number, "note": "x"})
    running = asyncio.create_task(lab.run(call))
    asked = await lab.watcher.until("tool_confirmation_request")
    (begun,) = lab.watcher.of("tool_call_started")
    shown = {"id": str(number), "note": "x"}
    assert (asked["subject"]["args"], begun["args"]) == (shown, shown)
    await lab.answer("approve_once", edited_args={**shown, "note": "y"})
    await running
    assert [(args.id, args.note) for args in ran] == [(number, "y")]


async def test_edited_arguments_that_raise_another_reason_are_asked_about_again(house: Lab):
    running = asyncio.create_task(
        house.run(CallRequest("c1", "bash", {"command": "rm -f nothing"}))
    )
    await house.watcher.until("tool_confirmation_request")
    await house.answer("approve_once", edited_args={"command": "git reset --hard"})
    second = await house.watcher.until("tool_confirmation_request", count=2)
    assert second["subject"]["command"] == "git reset --hard"
    assert second["asked_again"].startswith("A person changed the arguments")
    assert second["risk"]["rules"][0]["rule_id"] == "arguments_changed"
    await house.answer("approve_once", second, edited_args={"command": "rm -f other; echo edited"})
    third = await house.watcher.until("tool_confirmation_request", count=3)
    await house.answer("approve_once", third)
    (outcome,) = await running
    assert outcome.success
    assert "edited" in outcome.text
    rows = await house.rows("SELECT count(*), count(consumed_at) FROM confirmations")
    assert rows == [(3, 3)]


async def test_edited_arguments_that_a_hook_asks_about_are_shown_with_its_reason(lab: Lab):
    async def ask_about_root(context: HookContext) -> HookResult:
        asks = context.arguments["user"] == "root"
        return HookResult(HookAction.ASK if asks else HookAction.CONTINUE, "root sees everything")

    lab.runtime.hooks.register(HookConfig("root", HookType.PRE_TOOL_USE, ask_about_root))
    ran = add_login(lab)
    running = start(lab, user="bob")
    await lab.watcher.until("tool_confirmation_request")
    await lab.answer("approve_once", edited_args={"user": "root"})
    second = await lab.watcher.until("tool_confirmation_request", count=2)
    assert "root sees everything" in second["description"]
    assert second["subject"]["args"]["user"] == "root"
    assert ran == []
    await lab.answer("approve_once", second)
    (outcome,) = await running
    assert [args.user for args in ran] == ["root"]
    assert outcome.text.startswith("A person changed the arguments before approving the call.")
