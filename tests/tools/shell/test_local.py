"""`bash` on a real folder and real processes."""

from __future__ import annotations

import pytest

from app.tools.shell.bash import bash
from tests.tools.calls import call, stream
from tests.tools.shell import alive


async def test_a_command_runs_in_the_workspace_and_sees_no_input(local):
    called = await stream(bash, local, "bash", command="printf 中; cat; echo no >&2; pwd")
    assert called.result.data["stdout"] == f"中{local.operations.root}\n"
    assert "".join(item.text for item in called.streamed if item.stream == "stderr") == "no\n"
    assert called.result.success


@pytest.mark.parametrize(
    ("command", "code"), [("exit 3", 3), ("kill -9 $$", 137), ("nosuchprogram", 127)]
)
async def test_the_status_of_a_failed_command_is_reported(local, command, code):
    result = await call(bash, local, command=command)
    assert (result.code, result.data["exit_code"]) == ("exit_nonzero", code)


@pytest.mark.requirement("SHL-02")
async def test_a_timeout_ends_the_command_and_everything_it_started(local):
    command = "setsid sleep 600 & echo $!; (trap '' TERM; sleep 600) & echo $!; echo $$; wait"
    result = await call(bash, local, command=command, timeout=1)
    pids = [int(pid) for pid in result.data["stdout"].split()]
    assert result.code == "timeout"
    assert len(pids) == 3
    assert [pid for pid in pids if alive.runs(pid)] == []
