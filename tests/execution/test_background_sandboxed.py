"""Processes of sessions in the sandbox that the service starts them in."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.execution.lab import Lab
from tests.tools.shell import alive

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="the sandbox is made of what only Linux has"
)


def _root(lab: Lab) -> Path:
    return Path(lab.runtime.projects.get("default").root)


async def test_every_result_tells_the_sandbox_also_of_what_ran_in_the_background(house: Lab):
    front = await house.call("bash", "front", command="true")
    started = await house.call("bash", "back", command="read line", background=True)
    process_id = started.result.data["process_id"]
    killed = await house.call("process", "kill", action="kill", process_id=process_id)
    reported = [front.result.data["sandbox"], killed.result.data["sandbox"]]
    assert [sandbox["level"] for sandbox in reported] == ["bash", "bash"]
    assert [set(sandbox) for sandbox in reported] == [{"level", "layers", "missing", "kill"}] * 2


async def test_on_a_terminal_a_program_talks_with_whoever_types(house: Lab):
    started = await house.call(
        "bash",
        "s",
        command="trap 'echo bye; exit 5' INT; tty; while :; do read x; done",
        background=True,
        pty=True,
    )
    process_id = started.result.data["process_id"]
    await house.call("process", "w", action="wait", process_id=process_id, pattern="/dev/")
    await house.call("process", "i", action="write", process_id=process_id, data="\x03")
    ended = await house.call("process", "e", action="wait", process_id=process_id)
    assert (ended.result.data["running"], ended.result.data["exit_code"]) == (False, 5)


async def test_a_kill_ends_all_that_was_started(house: Lab):
    started = await house.call(
        "bash",
        "s",
        command="setsid sleep 600 & (trap '' TERM; sleep 600) & echo on; wait",
        background=True,
    )
    process_id = started.result.data["process_id"]
    await house.call("process", "w", action="wait", process_id=process_id, pattern="on")
    assert len(alive.below(_root(house))) >= 3
    await house.call("process", "k", action="kill", process_id=process_id)
    assert alive.below(_root(house)) == []


async def test_state_is_kept_in_the_sandbox_too(house: Lab):
    await house.call("bash", "a", command="mkdir d; cd d; export A=1", keep_state=True)
    kept = await house.call("bash", "b", command="pwd; echo $A", keep_state=True)
    assert kept.result.data["stdout"] == f"{_root(house)}/d\n1\n"
