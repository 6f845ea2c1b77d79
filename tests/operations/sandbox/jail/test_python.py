"""Python at strict and standard: parked, confined before the code is known."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from app.operations.sandbox.jail.job import Work
from tests.operations.sandbox.jail.inside import COMMON, Inside, python

WITHOUT_LANDLOCK = ("rlimits", "no_new_privs", "caps-dropped", "seccomp")


@pytest.mark.parametrize("level", ["strict", "standard"])
def test_a_parked_process_runs_what_it_is_given(inside: Inside, root: Path, level: str):
    run = inside.start(python(None, level, root, COMMON))
    started = run.started()

    run.give(Work("print(6 * 7)\n'value'"))
    result = run.finish()

    assert result.out == "42\n"
    assert result.report == {"value": "'value'", "error": None}
    assert set(started["layers"]) == set(COMMON)
    assert started["missing"] == []
    assert result.ended["reason"] == "exited"


@pytest.mark.parametrize("level", ["strict", "standard"])
def test_the_clock_of_a_parked_process_stands_still(inside: Inside, root: Path, level: str):
    run = inside.start(python(None, level, root, COMMON, wall_s=0.4))
    run.started()
    other = inside.run(python("import time\ntime.sleep(0.6)", "lenient", root, COMMON))

    run.give(Work("print('in time')"))

    assert other.ended["code"] == 0
    assert run.finish().out == "in time\n"


@pytest.mark.parametrize("level", ["strict", "standard"])
def test_a_parked_process_that_is_not_needed_ends(inside: Inside, root: Path, level: str):
    run = inside.start(python(None, level, root, COMMON))
    run.started()

    run.let_go()

    assert run.finish().ended["reason"] == "killed"


@pytest.mark.parametrize("layers", [COMMON, WITHOUT_LANDLOCK], ids=["all", "seccomp-alone"])
@pytest.mark.parametrize("level", ["strict", "standard"])
def test_full_power_over_python_is_no_power_over_the_machine(
    inside: Inside, root: Path, level: str, layers: tuple[str, ...]
):
    """The language's rules are stepped over; what is left is the kernel."""
    secret = root.parent / "secret"
    mark = root / "mark"
    mark.touch()
    attempts = f"""
import dataclasses
posix = dataclasses.sys.modules['posix']
def attempt(call, *arguments):
    try:
        call(*arguments)
    except OSError as error:
        return error.errno in (1, 13)
    return 'done'
print(attempt(posix.open, {str(secret)!r}, 0))
print(attempt(posix.open, {str(mark)!r}, 1))
print(attempt(posix.fork))
print(attempt(posix.execv, '/bin/true', ['true']))
print(attempt(posix.kill, {os.getpid()}, 9))
print(attempt(posix.kill, posix.getppid(), 0))
print(attempt(posix.chmod, {str(mark)!r}, 0))
print(attempt(posix.unlink, {str(mark)!r}))
print(attempt(posix.mkdir, {str(root / "new")!r}))
print(attempt(posix.setsid))
print(attempt(posix.memfd_create, 'x'))
print(attempt(posix.listdir, '/proc/self/fd'))
"""

    result = inside.run(python(attempts, level, root, layers))

    assert result.out.split() == ["True"] * 12, result
    assert mark.exists()


@pytest.mark.parametrize("level", ["strict", "standard"])
def test_it_is_asked_for_seccomp_or_nothing_runs(inside: Inside, root: Path, level: str):
    layers = tuple(name for name in COMMON if name != "seccomp")

    result = inside.run(python("print('ran')", level, root, layers))

    assert (result.out, result.ended["reason"]) == ("", "setup")


def test_an_error_of_the_code_is_reported(inside: Inside, root: Path):
    result = inside.run(python("1 / 0", "strict", root, COMMON))

    assert result.ended["code"] == 1
    assert result.report == {"value": None, "error": "ZeroDivisionError: division by zero"}
