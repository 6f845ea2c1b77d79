"""Hooks that are programs: what they read, what their end means, and what a broken one does."""

from __future__ import annotations

import json
import stat
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from app.config.sections import HookSettings
from app.config.settings import Settings
from app.execution.calls import CallRequest
from app.execution.hooks.command import answer_of, readable
from app.execution.hooks.model import HookAction, HookBroken, HookType
from tests.execution.lab import WRITES, Lab, bare_lab, counted, made, open_lab
from tests.support.source import ROOT

Written = Callable[..., Settings]


@pytest.fixture
def guarded(settings: Settings) -> Written:
    """Settings with one hook, a Python program whose text is given."""

    def write(program: str, **fields: Any) -> Settings:
        folder = settings.hooks_dir
        folder.mkdir(parents=True, exist_ok=True)
        name = f"hook{len(list(folder.iterdir()))}.py"
        (folder / name).write_text(
            "import json, os, sys, time\ncall = json.load(sys.stdin)\n" + program
        )
        chosen: dict[str, Any] = {
            "name": "guard",
            "event": "pre_tool_use",
            "command": [sys.executable, name],
            **fields,
        }
        return settings.model_copy(
            update={"hooks": [*settings.hooks, HookSettings.model_validate(chosen)]}
        )

    return write


@asynccontextmanager
async def noting(settings: Settings) -> AsyncIterator[tuple[Lab, list[Any]]]:
    """A lab with the tool `note`, and what it ran with."""
    async with bare_lab(settings) as lab:
        with counted() as (function, ran):
            lab.add(made(function, name="note", cacheable=True))
            yield lab, ran


async def test_a_program_reads_the_call_as_json(guarded: Written):
    settings = guarded(
        "open('seen.json', 'w').write(json.dumps([call, sorted(os.environ), os.getcwd()]))"
    )
    async with open_lab(settings, project="default") as lab:
        request = CallRequest("c1", "bash", {"command": "rm -r build"})
        await lab.run(request, run_id="run_1", agent_id=None, user_id="ann", attended=False)
        call, environment, cwd = json.loads((settings.hooks_dir / "seen.json").read_text())
        root = lab.context["project"].root
    assert call.pop("operation_id").startswith("op_")
    assert call.pop("session_id") == lab.session.id
    decision = call.pop("decision")
    assert (decision["verdict"], decision["risk"]) == ("ask", "high")
    assert decision["reasons"]
    assert call == {
        "hook_event_name": "pre_tool_use",
        "tool_name": "bash",
        "tool_input": {"command": "rm -r build"},
        "run_id": "run_1",
        "user_id": "ann",
        "tool_call_id": "c1",
        "caller": "agent",
        "cwd": root,
    }
    assert Path(cwd) == settings.hooks_dir.resolve()
    assert not {"ANTHROPIC_API_KEY", "TOLLGATE_TOKEN"} & set(environment)


async def test_exit_2_denies_with_what_was_written_to_standard_error(guarded: Written):
    program = "sys.stderr.write('\\x1b[31mnot on Sundays\\x1b[0m\\n'); sys.exit(2)"
    async with noting(guarded(program)) as (lab, ran):
        outcome = await lab.call("note")
    assert (outcome.status, outcome.result.code) == ("denied", "hook_denied")
    assert (outcome.text, ran) == ("not on Sundays", [])


@pytest.mark.parametrize("program", ["", "print('{}')", 'print(\'{"decision": "allow"}\')'])
async def test_exit_0_goes_on(guarded: Written, program: str):
    async with noting(guarded(program)) as (lab, ran):
        assert (await lab.call("note")).status == "success"
    assert len(ran) == 1


BROKEN = {
    "another exit code": ("sys.exit(1)", "hook_exit"),
    "no object": ("print('looks fine')", "hook_bad_output"),
    "chatter before the answer": (
        "print('hm'); print('{\"decision\": \"allow\"}')",
        "hook_bad_output",
    ),
    "an unknown word": ('print(\'{"decision": "sure"}\')', "hook_bad_decision"),
    "an unknown key": ('print(\'{"decison": "deny"}\')', "hook_unknown_keys"),
    "too much": ("print('x' * 300_000)", "hook_output_too_long"),
    "a signal": ("os.kill(os.getpid(), 9)", "hook_exit"),
    "three gigabytes of memory": ("b'x' * (3 << 30)", "hook_exit"),
}


@pytest.mark.parametrize(("program", "code"), BROKEN.values(), ids=BROKEN)
async def test_a_broken_program_denies_as_an_infrastructure_error(
    guarded: Written, program: str, code: str
):
    async with noting(guarded(program)) as (lab, ran):
        outcome = await lab.call("note")
        rows = await lab.rows("SELECT actor, outcome, detail FROM audit WHERE kind = 'hook.failed'")
    assert (outcome.status, outcome.result.code, ran) == ("denied", "hook_failed", [])
    ((actor, came_to, detail),) = rows
    assert (actor, came_to, json.loads(detail)["code"]) == ("system", "denied", code)


async def test_a_program_that_hangs_is_ended_with_all_it_started(guarded: Written):
    command = "sleep 600 & echo $$ $! > pids; wait"
    settings = guarded("", command=command, timeout_s=2)
    async with noting(settings) as (lab, ran):
        outcome = await lab.call("note")
    assert (outcome.result.code, ran) == ("hook_failed", [])
    assert "did not respond within 2 s" in outcome.text
    pids = (settings.hooks_dir / "pids").read_text().split()
    assert len(pids) == 2
    assert [pid for pid in pids if alive(pid)] == []


async def test_a_broken_program_may_be_configured_to_ask_or_to_let_pass(guarded: Written):
    async with noting(guarded("sys.exit(1)", on_error="allow")) as (lab, ran):
        assert (await lab.call("note")).status == "success"
        stats = lab.runtime.hooks.stats(hook_named(lab, "guard"))
        assert (stats.calls, stats.failures, stats.denies) == (1, 1, 0)
    assert len(ran) == 1
    async with noting(guarded("sys.exit(1)", on_error="ask")) as (lab, ran):
        outcome = (await lab.run(CallRequest("c1", "note", {}), attended=False))[0]
    assert (outcome.result.code, ran) == ("unattended", [])


@pytest.mark.parametrize("command", [["no-such-program"], "no-such-program --check", ["./guard"]])
async def test_a_program_that_is_missing_denies_whatever_its_on_error(
    settings: Settings, command: Any
):
    hook = HookSettings(name="guard", event="pre_tool_use", command=command, on_error="allow")
    async with noting(settings.model_copy(update={"hooks": [hook]})) as (lab, ran):
        outcome = await lab.call("note")
    assert (outcome.status, outcome.result.code, ran) == ("denied", "hook_failed", [])
    assert "guard" in outcome.text


async def test_changed_input_is_validated_and_judged_again(guarded: Written):
    answer = "print(json.dumps({'modified_input': {'text': call['tool_input'].get('text') + '!'}}))"
    async with noting(guarded(answer)) as (lab, ran):
        assert (await lab.call("note", text="a")).status == "success"
        assert ran[0].text == "a!"
    wrong = "print(json.dumps({'modified_input': {'number': 'many'}}))"
    async with noting(guarded(wrong)) as (lab, ran):
        assert (await lab.call("note")).status == "invalid_arguments"
    danger = "print(json.dumps({'decision': 'allow', 'modified_input': {'command': 'rm -rf /'}}))"
    async with open_lab(guarded(danger)) as house:
        outcome = await house.call("bash", command="ls")
        assert outcome.status == "denied"


async def test_an_allow_takes_no_question_away(guarded: Written):
    allows = guarded('print(\'{"decision": "allow"}\')')
    async with bare_lab(allows) as lab:
        with counted() as (function, ran):
            lab.add(made(function, name="note", requires_confirmation=True))
            outcome = (await lab.run(CallRequest("c1", "note", {}), attended=False))[0]
    assert (outcome.result.code, ran) == ("unattended", [])
    async with open_lab(allows) as house:
        request = CallRequest("c1", "bash", {"command": "rm -rf build"})
        assert (await house.run(request, attended=False))[0].result.code == "unattended"


async def test_a_later_denial_beats_an_earlier_question_and_order_decides_who_is_first(
    guarded: Written, settings: Settings
):
    asks = guarded('print(\'{"decision": "ask", "reason": "sure?"}\')', name="a").hooks
    denies = guarded("open('ran', 'w'); sys.exit(2)", name="b", order=-1).hooks
    async with noting(settings.model_copy(update={"hooks": [*asks, *denies]})) as (lab, ran):
        outcome = await lab.call("note")
        assert outcome.result.code == "hook_denied"
        assert lab.runtime.hooks.stats(hook_named(lab, "a")).calls == 0
    assert ran == []


async def test_a_program_after_the_call_may_replace_or_withhold_the_result(guarded: Written):
    replaces = "print(json.dumps({'modified_result': call['tool_response']['data']['n'] + 1}))"
    async with noting(guarded(replaces, event="post_tool_use")) as (lab, _):
        assert (await lab.call("note")).text == "2"
    async with noting(guarded("sys.exit(2)", event="post_tool_use")) as (lab, _):
        outcome = await lab.call("note")
    assert (outcome.status, outcome.result.code) == ("error", "hook_denied")


async def test_an_observer_sees_why_a_call_was_not_run_and_changes_nothing(guarded: Written):
    program = "open('seen', 'w').write(call['reason']); sys.exit(2)"
    settings = guarded(program, event="tool_skip")
    async with noting(settings) as (lab, _):
        await lab.runtime.governance.sync(lab.runtime.registry.snapshot())
        await lab.runtime.governance.set_enabled("note", enabled=False)
        assert (await lab.call("note")).status == "disabled"
    assert (settings.hooks_dir / "seen").read_text() == "disabled_global"


async def test_a_gate_is_asked_before_the_cache_answers_and_under_every_name(guarded: Written):
    program = "open('count', 'a').write('x'); os.path.exists('shut') and sys.exit(2)"
    settings = guarded(program, matcher="BashTool|note")
    async with noting(settings) as (lab, ran):
        assert (await lab.call("note", "c1")).status == "success"
        assert (await lab.call("note", "c2")).cached is True
        (settings.hooks_dir / "shut").touch()
        assert (await lab.call("note", "c3")).status == "denied"
    assert ((settings.hooks_dir / "count").read_text(), len(ran)) == ("xxx", 1)
    async with open_lab(settings) as house:
        for name in ("bash", "exec", "terminal", "BashTool"):
            request = CallRequest("c1", name, {"command": "true"})
            assert (await house.run(request))[0].result.code == "hook_denied", name
        assert (await house.call("calculator", "c9", expression="1")).status == "success"


async def test_only_promised_variables_reach_a_program(
    guarded: Written, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("GUARD_URL", "https://guard.example")
    monkeypatch.setenv("OTHER", "secret")
    program = "open('env', 'w').write(json.dumps(dict(os.environ)))"
    settings = guarded(program, env=["GUARD_URL", "NOT_SET"])
    async with noting(settings) as (lab, _):
        await lab.call("note")
    seen = json.loads((settings.hooks_dir / "env").read_text())
    assert seen["GUARD_URL"] == "https://guard.example"
    assert not {"OTHER", "NOT_SET"} & seen.keys()


async def test_a_batch_starts_only_a_few_programs_at_once(guarded: Written):
    program = (
        "import uuid\n"
        "os.makedirs('now', exist_ok=True)\n"
        "mine = 'now/' + uuid.uuid4().hex\n"
        "open(mine, 'w')\n"
        "open('most', 'a').write(f\"{len(os.listdir('now'))} \")\n"
        "os.remove(mine)"
    )
    settings = guarded(program)
    async with bare_lab(settings) as lab:
        with counted() as (function, _):
            lab.add(made(function, name="note", **WRITES))
            requests = [CallRequest(f"c{n}", "note", {"number": n}) for n in range(24)]
            outcomes = await lab.run(*requests)
    assert {outcome.status for outcome in outcomes} == {"success"}
    assert max(map(int, (settings.hooks_dir / "most").read_text().split())) <= 8


def naming(path: str) -> dict[str, dict[str, Any]]:
    """A call of each kind of tool that names a path."""
    return {
        "write_file": {"path": path, "content": "x"},
        "edit_file": {"path": path, "old_text": "a", "new_text": "b"},
        "patch": {"patch": f"*** Begin Patch\n*** Add File: {path}\n+x\n*** End Patch"},
        "file_delete": {"path": path},
        "file_mkdir": {"path": path},
        "bash": {"command": f"cat '{path}'"},
        "execute_python": {"code": f"print('{path}')"},
        "send_media": {"file_paths": [path]},
    }


@pytest.mark.parametrize(
    ("path", "code"),
    [("src/a.txt", None), ("x/../.github/ci.yml", "hook_denied"), ("deploy/a.yml", "unattended")],
)
async def test_the_example_does_what_it_says(settings: Settings, path: str, code: str | None):
    program = str(ROOT / "examples" / "hooks" / "protect_paths.py")
    hook = HookSettings(
        name="protect_paths",
        event="pre_tool_use",
        matcher="*",
        command=[sys.executable, program],
    )
    requests = [
        CallRequest(f"c{at}", name, arguments)
        for at, (name, arguments) in enumerate(naming(path).items())
    ]
    async with open_lab(settings.model_copy(update={"hooks": [hook]})) as lab:
        outcomes = [(await lab.run(request, attended=False))[0] for request in requests]
        # Without a file to change, some fail in the end; none is refused.
        codes = {outcome.tool_name: outcome.result.code for outcome in outcomes}
    refused = {"hook_denied", "unattended", "hook_failed"}
    if code is None:
        assert refused.isdisjoint(codes.values())
    else:
        assert set(codes.values()) == {code}


def test_both_ways_of_answering_are_read_and_the_stricter_one_holds():
    inner = {"hookEventName": "PreToolUse", "permissionDecision": "deny"}
    said = {"decision": "approve", "hookSpecificOutput": {**inner, "permissionDecisionReason": "x"}}
    answer = answer_of(HookType.PRE_TOOL_USE, json.dumps(said).encode())
    assert (answer.action, answer.message) == (HookAction.DENY, "x")
    stopped = answer_of(HookType.PRE_TOOL_USE, b'{"continue": false, "stopReason": "enough"}')
    assert (stopped.action, stopped.message) == (HookAction.DENY, "enough")
    updated = {"hookSpecificOutput": {"permissionDecision": "ask", "updatedInput": {"a": 1}}}
    changed = answer_of(HookType.PRE_TOOL_USE, json.dumps(updated).encode())
    assert (changed.action, changed.modified_args) == (HookAction.ASK, {"a": 1})


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (HookType.POST_TOOL_USE, {"modified_input": {}}),
        (HookType.PRE_TOOL_USE, {"modified_result": 1}),
        (HookType.PRE_TOOL_USE, {"modified_input": "ls"}),
        (HookType.PRE_TOOL_USE, {"continue": "no"}),
        (HookType.PRE_TOOL_USE, {"decision": ["deny"]}),
        (HookType.PRE_TOOL_USE, {"hookSpecificOutput": []}),
        (HookType.PRE_TOOL_USE, []),
    ],
    ids=str,
)
def test_an_answer_that_makes_no_sense_is_none(kind: HookType, said: Any):
    with pytest.raises(HookBroken):
        answer_of(kind, json.dumps(said).encode())


def test_what_a_program_says_hides_nothing():
    assert readable(b"\x1b[2Jno\r\n\x1b]0;title\x07way \xe2\x80\xae\x00") == (
        "no\nway \\u202e\\x00"
    )


async def test_a_program_without_leave_to_run_is_a_missing_one(settings: Settings):
    settings.hooks_dir.mkdir(parents=True)
    program = settings.hooks_dir / "guard.sh"
    program.write_text("#!/bin/sh\n")
    program.chmod(stat.S_IRUSR | stat.S_IWUSR)
    hook = HookSettings(name="guard", event="pre_tool_use", command=["./guard.sh"])
    async with noting(settings.model_copy(update={"hooks": [hook]})) as (lab, _):
        outcome = await lab.call("note")
    assert "not executable" in outcome.text


def hook_named(lab: Lab, name: str) -> Any:
    return next(hook for hook in lab.runtime.hooks.list_all() if hook.name == name)


def alive(pid: str) -> bool:
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return status.rpartition(")")[2].split()[0] not in "ZX"
