"""The zygote, its jobs, and what it refuses."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from app.operations.sandbox.jail import layers as names
from app.operations.sandbox.jail.job import Job
from scripts.parts import ROOT_USER
from tests.operations.sandbox.jail.inside import (
    COMMON,
    ENVIRONMENT,
    GUARD,
    NAMESPACES,
    ORDINARY,
    Inside,
    bash,
    program,
)
from tests.support.binaries import needs


def test_it_says_what_is_on_and_what_is_missing(
    inside: Inside, layers: tuple[str, ...], root: Path
):
    started = inside.run(bash("true", root, layers)).started

    # A network of the tree's own needs no limit of ports.
    without = names.LANDLOCK_NETWORK if names.NAMESPACES in layers else None
    wanted = [name for name in names.ALL if name in layers and name != without]
    assert started["layers"] == wanted
    assert started["missing"] == []


def test_what_is_not_asked_for_is_missing(inside: Inside, root: Path):
    started = inside.run(bash("true", root, ("seccomp",))).started

    assert started["missing"] == [
        *("landlock-fs", "landlock-net", "landlock-scope", "metadata-guard")
    ]
    assert set(started["layers"]) == {"caps-dropped", "rlimits", "no_new_privs", "seccomp"}


def test_a_layer_that_cannot_go_on_stops_the_run(zygotes: dict[str, Inside], root: Path):
    """An ordinary user cannot become another one."""
    zygote = zygotes.get("ordinary", zygotes["self"])
    job = bash("echo ran", root, (*GUARD, "uid-drop"))

    result = zygote.run(replace(job, policy=replace(job.policy, uid=None)))

    assert result.out == ""
    assert result.ended["reason"] == "setup"
    assert "uid-drop" in result.ended["error"]


def test_a_workspace_that_is_not_there_stops_the_run(
    inside: Inside, layers: tuple[str, ...], root: Path
):
    result = inside.run(bash("echo ran", root / "gone", layers))

    assert (result.out, result.ended["reason"]) == ("", "setup")
    assert "gone" in result.ended["error"] or "No such file" in result.ended["error"]


def test_a_job_that_makes_no_sense_is_refused_and_the_zygote_goes_on(
    inside: Inside, layers: tuple[str, ...], root: Path
):
    job = bash("echo ran", root, layers)
    broken = [
        replace(job, policy=replace(job.policy, layers=("seccomp", *layers), cpu_s=-5)),
        replace(job, argv=None, work=None, parked=False, cwd="\0"),
        replace(job, env={"A\0B": "c"}),
    ]

    for one in broken:
        result = inside.run(one)
        assert result.out == "", result

    assert inside.run(job).out == "ran\n"


@pytest.mark.parametrize(
    ("program", "code"), [("/nowhere/at-all", 127), ("/etc/hostname", 126), ("/etc/shadow", 126)]
)
def test_a_program_that_cannot_be_run_says_so(
    inside: Inside, layers: tuple[str, ...], root: Path, program: str, code: int
):
    result = inside.run(replace(bash("", root, layers), argv=(program,)))

    assert result.ended["code"] == code
    assert result.err.startswith(f"{program}: ")


def test_a_terminal_becomes_the_controlling_one(
    inside: Inside, layers: tuple[str, ...], root: Path
):
    ours, theirs = pty.openpty()
    if inside.uid is not None:
        os.fchown(theirs, inside.uid, inside.uid)
    job = replace(
        bash("test -t 0 && echo to > /dev/tty && tty -s && echo ok", root, layers), terminal=True
    )

    result = inside.start(job, stdin=theirs).finish()

    assert result.out == "ok\n", result
    assert os.read(ours, 100) == b"to\r\n"
    os.close(ours)


@needs(ROOT_USER)
@pytest.mark.parametrize("layers", [NAMESPACES, COMMON], ids=["namespaces", "plain"])
def test_root_becomes_another_user(
    zygotes: dict[str, Inside], world: Path, layers: tuple[str, ...]
):
    root = world / "root"
    for path in (world, root):
        os.chown(path, ORDINARY, ORDINARY)
    private = world / "private"
    private.write_text("root's")
    private.chmod(0o600)
    job = bash("id -u; id -g; id -G; touch f; cat ../private; chmod 700 ../private", root, layers)
    limited = replace(job.policy, uid=ORDINARY, layers=(*layers, "uid-drop"), disk_bytes=1 << 30)

    result = zygotes["self"].run(replace(job, policy=limited))

    assert result.out.split() == [str(ORDINARY)] * 3
    assert (root / "f").stat().st_uid == ORDINARY
    assert result.started["missing"] == []
    assert "uid-drop" in result.started["layers"]
    assert result.ended["kill"] in ("pidns", "landlock")


@needs(ROOT_USER)
@pytest.mark.parametrize("layers", [NAMESPACES, COMMON], ids=["namespaces", "plain"])
def test_the_meter_sees_another_user(
    zygotes: dict[str, Inside], world: Path, layers: tuple[str, ...]
):
    root = world / "root"
    os.chown(root, ORDINARY, ORDINARY)
    script = "while :; do dd if=/dev/zero of=f bs=1M count=8 2>/dev/null; sleep 0.02; done"
    job = bash(script, root, layers, disk_bytes=64 << 20)
    policy = replace(job.policy, uid=ORDINARY, layers=(*layers, "uid-drop"))

    assert zygotes["self"].run(replace(job, policy=policy)).ended["reason"] == "disk"


def test_it_ends_with_its_socket():
    zygote = Inside()

    zygote.close()

    assert zygote.process.returncode == 0


def test_the_probe_builds_every_layer(inside: Inside):
    command = program("probe", "-", uid=inside.uid)

    answer = json.loads(subprocess.check_output(command, env=ENVIRONMENT, cwd="/"))

    expected = [name for name in names.ALL if name != names.UID_DROP]
    assert answer["layers"] == expected
    assert answer["missing"] == {}
    assert answer["landlock_abi"] >= 6
    assert answer["kill"] == "pidns"


def test_the_probe_says_why_a_layer_is_missing():
    command = program("probe", str(ORDINARY), uid=ORDINARY if os.geteuid() == 0 else None)

    answer = json.loads(subprocess.check_output(command, env=ENVIRONMENT, cwd="/"))

    assert names.UID_DROP not in answer["layers"]
    assert "not permitted" in answer["missing"][names.UID_DROP]


def test_jobs_survive_the_wire(root: Path, layers: tuple[str, ...]):
    from app.operations.sandbox.jail.job import decode, encode

    job: Job = replace(bash("\udcff ü", root, layers), env={"A": "\udc80"})

    assert decode(encode(job)) == job
