"""Nothing of a tree is left, however it ends and whatever it forked."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from app.operations.sandbox.jail.job import TERMINATE
from tests.operations.sandbox.jail.inside import (
    COMMON,
    GUARD,
    NAMESPACES,
    Inside,
    bash,
    processes_with,
    python,
)

WITHOUT_SCOPE = tuple(name for name in GUARD if name != "landlock-scope")
WAYS = [
    pytest.param(NAMESPACES, "pidns", id="namespaces"),
    pytest.param(GUARD, "landlock", id="guard"),
    pytest.param(WITHOUT_SCOPE, "scan", id="scan"),
]

FORKS = {
    "daemon": "(setsid sleep MARK &) ; setsid nohup sleep MARK >/dev/null 2>&1 & sleep 0.2",
    "stubborn": "trap '' TERM HUP INT; sleep MARK & wait",
    "chase": """
        step() { (sleep 0.01; step MARK) & }
        for i in 1 2 3 4; do step; done; sleep 0.3""",
    "silent": "exec 0<&- 1>&- 2>&-; setsid sleep MARK & sleep MARK",
    "stopped": "sleep MARK & kill -STOP $!; kill -STOP $$",
}


def marker(root: Path) -> str:
    """A number of seconds no other test sleeps for."""
    return f"9{abs(hash(root)) % 10**8:08d}.5"


@pytest.mark.parametrize("how", FORKS)
@pytest.mark.parametrize(("layers", "kill"), WAYS)
def test_a_leash_that_is_let_go_ends_everything(
    inside: Inside, root: Path, how: str, layers: tuple[str, ...], kill: str
):
    mark = marker(root)
    run = inside.start(
        bash(f"echo up; {FORKS[how].replace('MARK', mark)}; sleep {mark}", root, layers)
    )
    run.printed("up")

    run.let_go()
    result = run.finish()

    assert processes_with(mark) == []
    assert (result.ended["reason"], result.ended["kill"]) == ("killed", kill)


@pytest.mark.parametrize(("layers", "kill"), WAYS)
def test_descendants_of_a_program_that_ended_are_counted_and_ended(
    inside: Inside, root: Path, layers: tuple[str, ...], kill: str
):
    mark = marker(root)
    script = f"for i in 1 2 3; do setsid sleep {mark} & done; echo over; exit 7"

    result = inside.run(bash(script, root, layers))

    assert processes_with(mark) == []
    ended = result.ended
    assert (ended["code"], ended["reason"], ended["orphans"], ended["kill"]) == (
        *(7, "exited", 3, kill),
    )
    assert result.out == "over\n"


@pytest.mark.parametrize(("layers", "kill"), WAYS)
def test_asking_lets_programs_clean_up(
    inside: Inside, root: Path, layers: tuple[str, ...], kill: str
):
    script = "trap 'echo cleaned > done; exit 9' TERM; echo up; while :; do sleep 0.05; done"
    run = inside.start(bash(script, root, layers))
    run.printed("up")

    run.order(TERMINATE)
    result = run.finish()

    assert (result.ended["code"], result.ended["kill"]) == (9, kill)
    assert (root / "done").read_text() == "cleaned\n"


@pytest.mark.parametrize(("layers", "kill"), WAYS)
def test_the_wall_clock_ends_it(inside: Inside, root: Path, layers: tuple[str, ...], kill: str):
    mark = marker(root)

    result = inside.run(bash(f"echo up; sleep {mark} & sleep {mark}", root, layers, wall_s=0.5))

    assert processes_with(mark) == []
    ended = result.ended
    assert (ended["reason"], ended["signal"], ended["kill"]) == ("timeout", 9, kill)


def test_what_was_said_before_the_time_was_over_is_heard(
    inside: Inside, layers: tuple[str, ...], root: Path
):
    # Seconds, for a busy machine may let half of one go by before the first word.
    result = inside.run(bash("echo up; sleep 600", root, layers, wall_s=5))

    assert (result.ended["reason"], result.out) == ("timeout", "up\n")


def test_without_a_wall_clock_it_lasts(inside: Inside, layers: tuple[str, ...], root: Path):
    run = inside.start(bash("echo up; read line; echo $line", root, layers, wall_s=None))
    run.printed("up")

    result = run.finish()

    assert result.ended["reason"] == "exited"


def test_the_supervisor_survives_its_zygote(layers: tuple[str, ...], root: Path):
    zygote = Inside()
    run = zygote.start(bash("echo up; sleep 0.5; echo still", root, layers))
    run.printed("up")

    zygote.process.kill()
    zygote.close()
    result = run.finish()

    assert result.out == "up\nstill\n"
    assert result.ended["reason"] == "exited"


def test_a_killed_supervisor_takes_its_tree_along(
    inside: Inside, layers: tuple[str, ...], root: Path
):
    mark = marker(root)
    script = f"setsid sleep {mark} & (setsid sleep {mark} &) ; echo up; sleep {mark}"
    run = inside.start(bash(script, root, layers))
    run.printed("up")
    main = run.started()["pid"]
    stat = Path(f"/proc/{main}/stat").read_text()
    supervisor = int(stat.rpartition(")")[2].split()[1])

    os.kill(supervisor, signal.SIGKILL)
    result = run.finish()  # its pipes end when nobody is left to hold them

    assert not any(event["event"] == "ended" for event in result.events)
    assert processes_with(mark) == []


def test_strict_and_standard_end_too(inside: Inside, root: Path):
    for level in ("strict", "standard"):
        result = inside.run(python("while True: pass", level, root, COMMON, wall_s=0.5))

        assert result.ended["reason"] == "timeout", result
        assert result.ended["kill"] == "landlock"
