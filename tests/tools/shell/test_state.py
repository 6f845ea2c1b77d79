"""What a shell hands on: taken out of its output, checked, and what is never kept."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.processes import SHELL_STATES, ShellState, ShellStates
from app.tools.shell.bash import bash
from app.tools.shell.state import (
    MAX_RECORD,
    MAX_VALUE,
    MAX_VARIABLES,
    Left,
    StateTap,
    loss_text,
    read_record,
)
from tests.tools.calls import call, stream

ROOT = "/srv/space"
NOTHING = ShellState()


def _mark(tap: StateTap) -> bytes:
    return tap.script.encode().partition(b"printf '\\0%s\\0' '")[2][:32].join((b"\0", b"\0"))


@given(st.binary(max_size=60), st.binary(max_size=60), st.data())
def test_the_record_is_taken_out_and_everything_else_is_shown_however_it_comes(before, after, data):
    tap = StateTap()
    record = b"/srv/space\n\0A=1"
    whole = before + _mark(tap) + record + _mark(tap) + after
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=4)))
    pieces = [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    seen = b"".join(tap.feed(piece) for piece in pieces) + tap.finish()
    assert (seen, tap.record) == (before + after, record)


def test_a_record_without_an_end_is_none_and_nothing_of_it_is_shown():
    tap = StateTap()
    assert tap.feed(b"out" + _mark(tap) + b"/srv/space\n\0SECRET=1") + tap.finish() == b"out"
    assert tap.record is None


def test_a_record_that_is_too_large_is_none():
    tap = StateTap()
    tap.feed(_mark(tap) + b"x" * (MAX_RECORD + 2))
    assert tap.feed(b"y" + _mark(tap) + b"seen") == b"seen"
    assert tap.record is None


@pytest.mark.parametrize(
    ("cwd", "kept"),
    [
        ("/srv/space", "/srv/space"),
        ("/srv/space/a b", "/srv/space/a b"),
        ("/srv/space_evil", None),
        ("/srv/space/../other", None),
        ("/", None),
        ("relative", None),
        ("", None),
    ],
)
def test_only_a_directory_inside_the_workspace_is_kept(cwd, kept):
    before = ShellState("/srv/space/before")
    left = read_record(cwd.encode() + b"\n", ROOT, before)
    assert left.state.cwd == (kept or "/srv/space/before")
    assert left.outside == (None if kept else cwd)


@pytest.mark.parametrize(
    "name",
    [
        *("PATH", "HOME", "IFS", "PWD", "SHELL", "TMPDIR", "CDPATH"),
        *("LD_PRELOAD", "LD_LIBRARY_PATH", "DYLD_INSERT_LIBRARIES", "BASH_ENV", "ENV"),
        *("SHELLOPTS", "BASHOPTS", "PROMPT_COMMAND", "PS4", "PYTHONPATH", "PYTHONSTARTUP"),
        *("GIT_DIR", "GIT_SSH_COMMAND", "NODE_OPTIONS", "PERL5OPT", "RUBYOPT", "PAGER", "EDITOR"),
        *(
            "LESSOPEN",
            "TAR_OPTIONS",
            "MAKEFLAGS",
            "GLOBIGNORE",
            "POSIXLY_CORRECT",
            "XDG_CONFIG_HOME",
        ),
        *("JAVA_TOOL_OPTIONS", "RSYNC_RSH", "TOLLGATE_TOKEN", "ANTHROPIC_API_KEY", "SUDO_ASKPASS"),
        *("BASH_FUNC_ls%%", "1A", "a-b", "", "A" * 129),
    ],
)
def test_what_would_change_how_later_commands_are_run_is_never_kept(name):
    left = read_record(f"{ROOT}\n\0{name}=x\0OK=1".encode(), ROOT, NOTHING)
    assert dict(left.state.variables) == {"OK": "1"}


def test_variables_are_bounded_in_number_and_size():
    many = "\0".join(f"V{n}=x" for n in range(MAX_VARIABLES + 5))
    left = read_record(f"{ROOT}\n\0BIG={'x' * (MAX_VALUE + 1)}\0{many}".encode(), ROOT, NOTHING)
    assert len(left.state.variables) == MAX_VARIABLES
    assert left.dropped == ("BIG", *(f"V{n}" for n in range(MAX_VARIABLES, MAX_VARIABLES + 5)))
    large = "\0".join(f"W{n}={'x' * 8000}" for n in range(10))
    assert len(read_record(f"{ROOT}\n\0{large}".encode(), ROOT, NOTHING).state.variables) == 4


def test_a_value_that_is_no_text_is_dropped():
    assert read_record(ROOT.encode() + b"\n\0A=\xff\0B=b", ROOT, NOTHING).dropped == ("A",)


def test_only_what_the_command_named_is_reported():
    left = Left(NOTHING, dropped=("GIT_DIR", "NOISE"))
    assert (
        loss_text(left, "export GIT_DIR=x")
        == "Not saved: GIT_DIR (too large, too many, or never saved)"
    )
    assert loss_text(left, "ls") == ""


def _states(ctx: Any) -> ShellStates:
    states: ShellStates = ctx.services.require(SHELL_STATES, ShellStates)
    return states


@pytest.mark.requirement("SHL-02")
async def test_directory_and_variables_go_on_in_the_next_call_that_asks_for_it(local):
    root = local.operations.root
    first = await call(
        bash,
        local,
        command="mkdir -p 'a b'; cd 'a b'; export X=$'one\\ntwo' Y=é; Z=no; export -n HOME",
        keep_state=True,
    )
    state = _states(local).get("ses_1", "project_1")
    there = replace(local, kept_cwd=state.cwd)
    second = await call(bash, there, command='pwd; echo "$X $Y ${Z-unset}"', keep_state=True)
    fresh = await call(bash, local, command='pwd; echo "${X-unset}"')
    assert (first.success, first.data["stdout"], first.data["stderr"]) == (True, "", "")
    assert state == ShellState(f"{root}/a b", {"X": "one\ntwo", "Y": "é"})
    assert second.data["stdout"] == f"{root}/a b\none\ntwo é unset\n"
    assert fresh.data["stdout"] == f"{root}\nunset\n"


@pytest.mark.parametrize(
    ("command", "code", "output"),
    [
        ("exit 3", 3, ""),
        ("false", 1, ""),
        ("set -euo pipefail; echo $nothing; echo no", 1, ""),
        ("echo a | grep b", 1, ""),
        ("printf a; exec >out.txt; echo b", 0, "a"),
        ("for x in 1 2; do\n  echo $x\ndone", 0, "1\n2\n"),
        ('echo "$# $0"', 0, "0 bash\n"),
        ("IFS=x; readonly IFS; echo a", 0, "a\n"),
        ("printf '\\0'; printf 'no newline'", 0, "\0no newline"),
    ],
)
async def test_a_command_means_the_same_in_a_shell_that_is_kept(local, command, code, output):
    called = await stream(bash, local, "bash", command=f"export K=1; {command}", keep_state=True)
    assert (called.result.data["exit_code"], called.result.data["stdout"]) == (code, output)
    assert "".join(piece.text for piece in called.streamed if piece.stream == "stdout") == output
    assert dict(_states(local).get("ses_1", "project_1").variables) == {"K": "1"}


@pytest.mark.parametrize(
    "command", ["exec true", "kill -9 $$", "trap - EXIT", "trap 'echo x' EXIT"]
)
async def test_a_shell_that_does_not_come_to_its_own_end_leaves_the_state_as_it_was(local, command):
    before = ShellState(local.operations.root, {"A": "1"})
    _states(local).put("ses_1", "project_1", before)
    result = await call(bash, local, command=f"export A=2; {command}", keep_state=True)
    assert _states(local).get("ses_1", "project_1") == before
    assert "Not saved: directory and variables" in str(result.text)


async def test_a_directory_outside_is_not_kept_and_that_is_reported(local):
    result = await call(bash, local, command="cd /", keep_state=True)
    assert _states(local).get("ses_1", "project_1").cwd is None
    assert "Not saved: the directory '/', outside the workspace" in str(result.text)


async def test_a_forged_record_is_checked_like_any_other(local):
    forged = r"""printf '\0%s\0/etc\n\0LD_PRELOAD=x\0GOOD=1\0%s\0' $t $t; kill -9 $$"""
    steal = (
        r"""t=$(declare -f _tollgate_keep | grep -o "'[0-9a-f]\{32\}'" | head -1 | tr -d "'"); """
    )
    await call(bash, local, command=steal + forged, keep_state=True)
    await call(
        bash, local, command=steal + forged.replace("kill -9 $$", "trap - EXIT"), keep_state=True
    )
    assert _states(local).get("ses_1", "project_1") == ShellState(None, {"GOOD": "1"})


async def test_a_kept_directory_that_is_gone_is_said_once(local):
    _states(local).put(
        "ses_1", "project_1", ShellState(f"{local.operations.root}/gone", {"A": "1"})
    )
    there = replace(local, kept_cwd=f"{local.operations.root}/gone")
    first = await call(bash, there, command="pwd", keep_state=True)
    state = _states(local).get("ses_1", "project_1")
    assert first.code == "kept_directory_gone"
    assert state == ShellState(None, {"A": "1"})


async def test_what_goes_on_in_the_background_finds_the_state_and_leaves_it(local):
    _states(local).put("ses_1", "project_1", ShellState(None, {"A": "kept"}))
    command = "echo $A; export A=changed"
    result = await call(bash, local, command=command, keep_state=True, pty=True)
    assert result.data["stdout"] == "kept\r\n"
    assert dict(_states(local).get("ses_1", "project_1").variables) == {"A": "kept"}
