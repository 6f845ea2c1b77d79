"""Commands that go on in the background, on real processes."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from typing import Any, cast

import pytest

from app.core.errors import InvalidArguments
from app.core.redaction import MASK
from app.domain.processes import SESSION_PROCESSES, SessionProcesses
from app.execution.background.processes import Processes
from app.operations.protocols.processes import DISK_FULL, ProcessChunk, ProcessExit
from app.operations.protocols.sandbox import SandboxReport
from app.toolkit.context import ToolContext
from app.tools.shell.bash import bash
from app.tools.shell.process import compiled, process, until_match
from tests.tools.calls import call, call_as, stream
from tests.tools.shell import alive
from tests.tools.shell.conftest import SECRET
from tests.tools.shell.scripted import ScriptedProcess, ScriptedProcesses

PATIENCE_S = 60


async def _start(ctx: ToolContext, command: str, **more: Any) -> str:
    result = await call(bash, ctx, command=command, background=True, **more)
    assert (result.success, result.data["running"]) == (True, True)
    return str(result.data["process_id"])


async def _ended(ctx: ToolContext, process_id: str) -> dict[str, Any]:
    result = await call(process, ctx, action="wait", process_id=process_id, timeout=PATIENCE_S)
    assert result.data["running"] is False
    return dict(result.data)


@pytest.mark.requirement("SYS-02")
async def test_a_command_in_the_background_returns_at_once_and_is_listed_polled_and_killed(local):
    process_id = await _start(local, "echo ready; sleep 600")
    waited = await call(process, local, action="wait", process_id=process_id, pattern="^ready$")
    listed = await call(process, local, action="list")
    polled = await call(process, local, action="poll", process_id=process_id)
    killed = await call(process, local, action="kill", process_id=process_id)
    assert (waited.data["matched"], waited.data["output"]) == ("ready", "ready\n")
    assert [row["process_id"] for row in listed.data["processes"]] == [process_id]
    assert (polled.data["output"], polled.data["running"]) == ("", True)
    assert (killed.data["running"], killed.data["reason"]) == (False, "killed")
    assert killed.data["sandbox"]["level"] == "none"
    assert "it was killed" in str(killed.text)


async def test_a_kill_ends_all_that_the_process_started(local):
    process_id = await _start(
        local, "setsid sleep 600 & echo $!; (trap '' TERM; sleep 600) & echo $!; echo $$ end; wait"
    )
    await call(process, local, action="wait", process_id=process_id, pattern="end")
    log = await call(process, local, action="log", process_id=process_id)
    pids = [int(word) for word in log.data["output"].split() if word.isdigit()]
    await call(process, local, action="kill", process_id=process_id)
    assert len(pids) == 3
    assert [pid for pid in pids if alive.runs(pid)] == []


async def test_each_poll_shows_what_is_new(local):
    process_id = await _start(local, "echo one; read line; echo two $line")
    first = await call(process, local, action="wait", process_id=process_id, pattern="one")
    typed = await call(process, local, action="write", process_id=process_id, data="three\n")
    ended = await _ended(local, process_id)
    assert first.data["output"] == "one\n"
    assert typed.data["output"] + ended["output"] == "two three\n"
    assert ended["exit_code"] == 0


async def test_input_can_be_ended(local):
    process_id = await _start(local, "cat; echo over")
    await call(process, local, action="write", process_id=process_id, data="a\n", close_input=True)
    await _ended(local, process_id)
    whole = await call(process, local, action="log", process_id=process_id)
    assert whole.data["output"] == "a\nover\n"


async def test_what_takes_no_input_says_so(local):
    process_id = await _start(local, "exit 3")
    ended = await _ended(local, process_id)
    refused = await call(process, local, action="write", process_id=process_id, data="x\n")
    assert ended["exit_code"] == 3
    assert refused.code == "input_closed"


async def test_on_a_terminal_a_program_is_interrupted_by_its_key(local):
    process_id = await _start(local, "trap 'exit 5' INT; tty; while :; do read x; done", pty=True)
    await call(process, local, action="wait", process_id=process_id, pattern="/dev/")
    await call(process, local, action="write", process_id=process_id, data="\x03")
    ended = await _ended(local, process_id)
    assert ended["exit_code"] == 5
    assert ended["terminal"] is True


async def test_a_wait_ends_at_its_time_at_a_match_and_at_the_end(local):
    process_id = await _start(local, "echo a; read line; echo b")
    nothing = await call(
        process, local, action="wait", process_id=process_id, pattern="b", timeout=0
    )
    await call(process, local, action="write", process_id=process_id, data="\n")
    found = await call(process, local, action="wait", process_id=process_id, pattern="zzz")
    assert nothing.data["matched"] is None
    assert nothing.data["running"] is True
    assert "No match so far" in str(nothing.text)
    assert (found.data["matched"], found.data["running"]) == (None, False)


async def test_a_pattern_that_is_none_is_refused(local):
    process_id = await _start(local, "sleep 600")
    result = await call(process, local, action="wait", process_id=process_id, pattern="(")
    assert result.code == "invalid_pattern"


@pytest.mark.requirement("SHL-02")
async def test_at_its_timeout_a_command_goes_on_where_that_was_asked_for(local):
    result = await call(
        bash, local, command="echo first; sleep 600", timeout=1, on_timeout="background"
    )
    process_id = result.data["process_id"]
    assert (result.success, result.data["stdout"], result.data["running"]) == (
        True,
        "first\n",
        True,
    )
    assert "Still running after 1 s" in str(result.text)
    killed = await call(process, local, action="kill", process_id=process_id)
    assert (killed.data["output"], killed.data["running"]) == ("", False)


async def test_without_room_a_command_is_killed_at_its_timeout_and_the_reason_reported(
    local, processes
):
    for _ in range(16):
        await _start(local, "sleep 600")
    full = await call(bash, local, command="sleep 600", background=True)
    result = await call(bash, local, command="sleep 600", timeout=1, on_timeout="background")
    assert full.code == "too_many_processes"
    assert result.code == "timeout"
    assert "16 background processes" in str(result.text)
    assert len(processes.of("ses_1")) == 16


async def test_all_of_a_long_output_is_there_to_be_read(local):
    result = await call(bash, local, command="seq 1 60000; echo é")
    pages: list[str] = []
    offset: int | None = 0
    while offset is not None:
        page = await call(
            process,
            local,
            action="log",
            process_id=result.data["process_id"],
            offset=offset,
            limit=50_000,
        )
        pages.append(page.data["output"])
        offset = page.data["next_offset"]
    last = await call(process, local, action="log", process_id=result.data["process_id"], offset=-3)
    assert result.data["truncated"] is True
    assert result.data["process_id"] in str(result.text)
    assert "".join(pages) == "".join(f"{n}\n" for n in range(1, 60_001)) + "é\n"
    assert last.data["output"] == "é\n"


async def test_a_process_of_another_session_does_not_exist(local):
    process_id = await _start(local, "sleep 600")
    stranger = replace(local, session_id="ses_2")
    listed = await call(process, stranger, action="list")
    codes = [
        (await call(process, stranger, action=action, process_id=process_id, **more)).code
        for action, more in (("poll", {}), ("log", {}), ("kill", {}), ("write", {"data": "x"}))
    ]
    assert listed.data["processes"] == []
    assert codes == ["process_not_found"] * 4
    assert (await call(process, local, action="poll", process_id=process_id)).data["running"]


async def test_a_secret_is_masked_in_what_is_kept_also_when_it_comes_in_two_pieces(local):
    half = len(SECRET) // 2
    process_id = await _start(
        local, f"printf %s {SECRET[:half]}; read line; echo {SECRET[half:]} over"
    )
    early = await call(process, local, action="poll", process_id=process_id)
    await call(process, local, action="write", process_id=process_id, data="\n")
    await _ended(local, process_id)
    whole = await call(process, local, action="log", process_id=process_id)
    assert early.data["output"] == ""
    assert whole.data["output"] == f"{MASK} over\n"


async def test_the_timeout_is_at_most_what_the_operator_and_the_call_allow(local, tmp_path):
    short = replace(local, timeout_s=1.0)
    result = await call(bash, short, command="sleep 600", timeout=600)
    assert result.error == "Timed out after 0.75 s: the command and all its processes were killed"
    assert "600 s were requested, which exceeds the maximum" in str(result.text)
    result = await call(bash, short, command="sleep 600")
    assert "asked for" not in str(result.text)


@pytest.mark.parametrize(
    ("reason", "code", "words"),
    [
        ("memory", "limit_exceeded", "it exceeded its memory limit"),
        ("disk", "limit_exceeded", "it exceeded its disk limit"),
        ("disk_full", "disk_full", DISK_FULL),
        ("processes", "limit_exceeded", "it exceeded its limit of processes"),
        ("output", "limit_exceeded", "it exceeded its output limit"),
        ("lost", "limit_exceeded", "its supervisor was lost"),
        ("timeout", "timeout", "it exceeded its time limit"),
    ],
)
async def test_a_limit_that_ended_a_command_is_reported_in_words(ctx, reason, code, words):
    report = SandboxReport("bash", ("landlock-fs", "seccomp"), ("namespaces",), "landlock")
    ended = ProcessExit(137, 9, reason, report)
    scripted = ScriptedProcesses(
        ScriptedProcess((ProcessChunk("stdout", b"so far\n"),), ended=ended)
    )
    context = replace(ctx, bound_operations=replace(ctx.operations, processes=scripted))
    result = await call(bash, context, command="make")
    assert (result.code, result.error) == (code, f"Stopped by the sandbox: {words}")
    assert result.data["reason"] == reason
    assert result.data["sandbox"] == report.to_dict()
    assert "so far" in str(result.text)


async def test_what_a_command_left_running_is_reported(ctx):
    scripted = ScriptedProcesses(ScriptedProcess(ended=ProcessExit(0, orphans=2)))
    context = replace(ctx, bound_operations=replace(ctx.operations, processes=scripted))
    result = await call(bash, context, command="serve &")
    assert "Also stopped: 2 processes that it left running" in str(result.text)


async def test_what_runs_in_the_background_tells_its_sandbox_from_the_start(ctx):
    scripted = ScriptedProcesses(ScriptedProcess(hangs=True))
    context = replace(ctx, bound_operations=replace(ctx.operations, processes=scripted))
    started = await call(bash, context, command="serve", background=True)
    listed = await call(process, context, action="list")
    report = scripted.process.sandbox.to_dict()
    assert started.data["sandbox"] == report
    assert [row["sandbox"] for row in listed.data["processes"]] == [report]


async def test_only_what_takes_input_is_said_to_take_it(local):
    typed = await call(bash, local, command="cat", background=True)
    late = await call(bash, local, command="sleep 5", timeout=1, on_timeout="background")
    assert "write to it" in str(typed.text)
    assert "write to it" not in str(late.text)


async def test_the_names_that_others_use_lead_here(local):
    started = await call_as(
        "BashTool", bash, local, command="read x; echo $x", run_in_background=True
    )
    process_id = started.data["process_id"]
    await call_as(
        "ProcessTool", process, local, action="write", session_id=process_id, chars="hi\n"
    )
    waited = await call_as(
        "ProcessTool", process, local, action="wait", id=process_id, wait_for="hi"
    )
    assert waited.data["running"] is False or waited.data["matched"] == "hi"


async def test_a_cancelled_call_leaves_nothing_behind(local, processes):
    started = asyncio.Event()

    async def follow() -> None:
        generator: Any = bash.function(bash.validate(b'{"command": "echo $$; sleep 600"}'), local)
        async for piece in generator:
            pids.append(int(piece.text))
            started.set()

    pids: list[int] = []
    running = asyncio.create_task(follow())
    async with asyncio.timeout(PATIENCE_S):
        await started.wait()
        running.cancel()
        await asyncio.wait({running})
    assert running.cancelled()
    assert not alive.runs(pids[0])
    assert processes.of("ses_1") == []


async def test_a_hundred_commands_at_once_of_which_some_flood_hang_and_are_cancelled(
    local, tmp_path
):
    """Bounded output, no process left, and every call ends."""

    async def one(number: int) -> str | None:
        if number in (0, 53):
            command, timeout = "yes floods | head -c 1000000000", 60
        elif number % 10 == 1:
            command, timeout = "sleep 600", 1
        else:
            command, timeout = f"echo {number}", 60
        return (await stream(bash, local, "bash", command=command, timeout=timeout)).result.code

    tasks = [asyncio.create_task(one(number)) for number in range(100)]
    async with asyncio.timeout(120):
        for number in range(2, 100, 8):
            tasks[number].cancel()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
    codes = {code if isinstance(code, str | None) else "cancelled" for code in ended}
    assert codes == {None, "timeout", "limit_exceeded", "cancelled"}
    assert alive.below(tmp_path / "ws") == []


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"action": "poll"}, "poll requires process_id"),
        (
            {"action": "poll", "process_id": "p", "data": "rm -rf /"},
            "data and close_input are only valid for",
        ),
        ({"action": "write", "process_id": "p"}, "write requires data or close_input"),
        ({"action": "kill", "process_id": "p", "pattern": "x"}, "pattern is only valid for wait"),
        ({"action": "stop"}, "action"),
    ],
)
async def test_arguments_that_do_not_fit_the_action_are_refused(ctx, arguments, problem):
    with pytest.raises(InvalidArguments, match=problem):
        await call(process, ctx, **arguments)


def test_the_service_is_what_the_tools_ask_for(processes: Processes):
    assert isinstance(processes, SessionProcesses)


async def test_waiting_for_a_hard_pattern_leaves_the_loop_to_others(local):
    # Random letters and counted repetitions keep the engine from its quick ways.
    process_id = await _start(
        local,
        "printf 'ab%.0s' {1..400}; echo done",
    )
    await _ended(local, process_id)
    here = threading.get_ident()
    searching: set[int] = set()
    pattern = compiled("(a|ab|b){0,300}c[ab]")

    class Watched:
        def search(self, text: str) -> Any:
            searching.add(threading.get_ident())
            return pattern.search(text)

    found = local.services.require(SESSION_PROCESSES, SessionProcesses).find(
        local.session_id, process_id
    )
    found.seen = 0
    assert await until_match(found, cast("Any", Watched())) is None
    assert searching
    assert here not in searching
