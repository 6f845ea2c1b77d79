"""Processes in the background and kept shells, through the whole gate."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from app.config.settings import Settings
from app.execution.calls import CallRequest
from tests.execution.lab import PATIENCE_S, Lab, open_lab

ANSWERED = "approve_once"


async def _start(lab: Lab, command: str, call_id: str = "start") -> str:
    outcome = await lab.call("bash", call_id, command=command, background=True)
    assert outcome.success, outcome.result.error
    return str(outcome.result.data["process_id"])


async def _asked(lab: Lab, name: str, call_id: str, **arguments: Any) -> dict[str, Any]:
    """Make a call that asks, decline it; what was asked."""
    running = asyncio.create_task(lab.call(name, call_id, **arguments))
    asked = await lab.watcher.until("tool_confirmation_request", tool_call_id=call_id)
    await lab.answer("decline", asked)
    assert (await running).status == "declined"
    return asked


@pytest.mark.requirement("SYS-02")
async def test_a_process_outlives_its_call_and_its_end_is_an_event(house: Lab):
    process_id = await _start(house, "echo ready; read line")
    await house.call("process", "kill", action="kill", process_id=process_id)
    ended = await house.watcher.until("process_ended")
    started = house.watcher.of("tool_call_started", tool_call_id="start")[0]
    assert house.watcher.about("start") == [
        "tool_call_started",
        "tool_result_streamed",
        "tool_call_completed",
    ] or house.watcher.about("start") == ["tool_call_started", "tool_call_completed"]
    assert (ended["process_id"], ended["reason"]) == (process_id, "killed")
    assert ended["started_by"] == started["operation_id"]
    assert "tool_call_id" not in ended
    assert house.session.log.holders == set()


async def test_while_a_process_runs_its_session_stays_open(house: Lab):
    process_id = await _start(house, "sleep 600")
    house.session.log.subscribers.clear()
    await house.runtime.db.flush()
    house.sessions.release(house.session)
    assert house.runtime.events.get(house.session.id) is house.session.log
    await house.runtime.processes.end_session(house.session.id)
    assert house.runtime.processes.of(house.session.id) == []
    assert process_id not in house.session.log.holders


async def test_everything_ends_with_the_service(settings: Settings):
    async with open_lab(settings) as lab:
        process_id = await _start(lab, "sleep 600")
        process = lab.runtime.processes.find(lab.session.id, process_id)
    assert process.exit is not None
    assert process.exit.reason == "killed"


async def test_a_command_in_the_background_is_judged_like_any_other(house: Lab):
    denied = await house.call("bash", "floor", command="rm -rf /", background=True)
    asked = await _asked(house, "bash", "risky", command="rm -rf build", background=True)
    assert denied.status == "denied"
    assert asked["subject"]["command"] == "rm -rf build"
    assert house.runtime.processes.of(house.session.id) == []


async def test_what_is_typed_into_a_process_asks_and_is_judged_as_a_command(house: Lab):
    process_id = await _start(house, "bash")
    asked = await _asked(
        house, "process", "type", action="write", process_id=process_id, data="ls\n"
    )
    floor = await house.call(
        "process", "floor", action="write", process_id=process_id, data="rm -rf / \n"
    )
    assert asked["subject"] == {"type": "command", "command": "ls\n", "cwd": asked["cwd"]}
    assert asked["risk"]["rules"][0]["rule_id"] == "typed_input"
    assert {option["option_id"] for option in asked["options"]} == {"approve_once", "decline"}
    assert floor.status == "denied"


async def test_keys_that_interrupt_and_looking_ask_nobody(house: Lab):
    process_id = await _start(house, "cat")
    outcomes = [
        await house.call("process", "list", action="list"),
        await house.call("process", "poll", action="poll", process_id=process_id),
        await house.call("process", "key", action="write", process_id=process_id, data="\x03"),
        await house.call(
            "process", "close", action="write", process_id=process_id, close_input=True
        ),
        await house.call("process", "wait", action="wait", process_id=process_id),
    ]
    assert [outcome.status for outcome in outcomes] == ["success"] * 5
    assert outcomes[-1].result.data["exit_code"] == 0


async def test_cancelling_ends_the_foreground_and_leaves_the_background(house: Lab):
    process_id = await _start(house, "sleep 600")
    running = asyncio.create_task(house.call("bash", "front", command="echo $$; sleep 600"))
    await house.watcher.until("tool_result_streamed", tool_call_id="front")
    assert house.runtime.executor.cancel(house.session.id, "front")
    assert (await running).status == "cancelled"
    polled = await house.call("process", "poll", action="poll", process_id=process_id)
    assert polled.result.data["running"] is True


@pytest.fixture
async def moved(house: Lab) -> Lab:
    """A house whose session's shell stands in `src`, with a variable."""
    await house.call(
        "bash", "move", command="mkdir -p src other; cd src; export X='rm -rf'", keep_state=True
    )
    return house


async def test_a_kept_shell_is_judged_and_runs_where_it_was_left(moved: Lab):
    root = moved.runtime.projects.get("default").root
    ran = await moved.call("bash", "pwd", command="pwd", keep_state=True)
    plain = await moved.call("bash", "plain", command="pwd")
    asked = await _asked(moved, "bash", "rm", command="rm -rf build", keep_state=True)
    away = await _asked(moved, "bash", "up", command="rm -rf ../../x", keep_state=True)
    assert ran.result.data["stdout"] == f"{root}/src\n"
    assert plain.result.data["stdout"] == f"{root}\n"
    assert asked["cwd"] == asked["subject"]["cwd"] == f"{root}/src"
    assert [target["path"] for target in asked["targets"]] == [f"{root}/src/build"]
    assert [target["path"] for target in away["targets"]] == [f"{root.rpartition('/')[0]}/x"]


async def test_a_kept_variable_is_unknown_to_the_risk_analysis(moved: Lab):
    asked = await _asked(moved, "bash", "var", command="$X build", keep_state=True)
    assert "unresolved_command" in [rule["rule_id"] for rule in asked["risk"]["rules"]]


async def test_an_approved_call_runs_where_it_was_shown_also_when_the_shell_has_moved(moved: Lab):
    root = moved.runtime.projects.get("default").root
    await moved.call("bash", "files", command="touch src/a other/a")
    running = asyncio.create_task(
        moved.call("bash", "rm", command="rm -rf a; pwd", keep_state=True)
    )
    asked = await moved.watcher.until("tool_confirmation_request", tool_call_id="rm")
    await moved.call("bash", "away", command="cd ../other", keep_state=True)
    await moved.answer(ANSWERED, asked)
    outcome = await running
    left = await moved.call("bash", "left", command="ls src other")
    assert asked["cwd"] == f"{root}/src"
    assert outcome.result.data["stdout"] == f"{root}/src\n"
    assert left.result.data["stdout"] == "other:\na\n\nsrc:\n"


async def test_calls_one_after_another_in_a_batch_go_on_where_the_last_one_stopped(house: Lab):
    commands = ["mkdir -p a/b; cd a", "cd b", "pwd"]
    requests = [
        CallRequest(f"c{at}", "bash", {"command": command, "keep_state": True})
        for at, command in enumerate(commands)
    ]
    outcomes = await house.run(*requests, workers=1)
    root = house.runtime.projects.get("default").root
    assert outcomes[-1].result.data["stdout"] == f"{root}/a/b\n"


async def test_a_person_may_take_the_kept_shell_out_of_a_call(moved: Lab):
    root = moved.runtime.projects.get("default").root
    running = asyncio.create_task(
        moved.call("bash", "rm", command="rm -rf a; pwd", keep_state=True)
    )
    asked = await moved.watcher.until("tool_confirmation_request", tool_call_id="rm")
    await moved.answer(ANSWERED, asked, edited_args={"command": "rm -rf a; pwd"})
    assert (await running).result.data["stdout"] == f"{root}\n"


@pytest.mark.requirement("SHL-03")
async def test_powershell_is_off_with_its_reason_where_pwsh_is_missing(house: Lab):
    reasons = house.runtime.resolver.resolve().disabled_reasons
    outcome = await house.call("powershell", command="Get-ChildItem")
    assert reasons["powershell"].message == (
        "Tool 'powershell' requires a program that is not installed: pwsh"
    )
    assert (outcome.status, outcome.result.code) == ("disabled", "missing_program")


async def test_a_flood_is_ended_and_the_gate_tells_the_whole_story(house: Lab):
    async with asyncio.timeout(PATIENCE_S * 3):
        outcome = (
            await house.runtime.executor.run(
                [CallRequest("flood", "bash", {"command": "yes | head -c 1000000000"})],
                house.call_context(),
            )
        )[0]
        await house.runtime.db.flush()
    assert (outcome.status, outcome.result.data["reason"]) == ("error", "output")
    assert house.watcher.about("flood")[-1] == "tool_call_completed"


async def test_reads_are_not_shared_while_a_process_may_write(house: Lab):
    root = Path(house.context["project"].root)
    (root / "state.txt").write_text("before\n", encoding="utf-8")
    process_id = await _start(house, "until [ -e go ]; do sleep 0.05; done; echo after > state.txt")
    first = await house.call("read_file", "first", path="state.txt")
    (root / "go").touch()
    await house.runtime.processes.find(house.session.id, process_id).wait()
    second = await house.call("read_file", "second", path="state.txt")
    third = await house.call("read_file", "third", path="state.txt")
    assert ("before" in first.text, "after" in second.text) == (True, True)
    # It has ended: equal reads are shared again.
    assert [one.cached for one in (first, second, third)] == [False, False, True]
