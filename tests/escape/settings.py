"""The settings in which attempts are made, and their drivers."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.operations.protocols.sandbox import Level
from tests.escape.source import HOW_MANY
from tests.escape.world import SERVICE_SECRET

SOURCE = Path(__file__).parents[2]
ORDINARY = 65534
_SHARDS = 2
_PATIENCE_S = 3600
Chosen = tuple[Level, str]
Verdict = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Setting:
    """Who runs the sandbox, and what it is given; `uid` None is whoever runs the tests."""

    name: str
    runner: str
    uid: int | None = None


NAIVE = Setting("naive", "naive")
OWN = Setting("all-layers", "sandbox")
GUARD = Setting("without-namespaces", "sandbox-without-namespaces")
NETWORK = Setting("with-a-port", "sandbox-with-network")
NETWORK_GUARD = Setting("with-a-port-without-namespaces", "sandbox-without-namespaces-with-network")
HOSTS = Setting("with-hosts", "sandbox-with-hosts")
SETTINGS: tuple[Setting, ...] = (
    OWN,
    GUARD,
    *(
        (
            Setting("ordinary-user", "sandbox", ORDINARY),
            Setting("ordinary-user-without-namespaces", "sandbox-without-namespaces", ORDINARY),
        )
        if os.geteuid() == 0
        else ()
    ),
)


class NoInterpreter(Exception):
    """No Python that this user may run has our packages."""


def run_driver(setting: Setting, chosen: Iterable[Chosen]) -> dict[Chosen, Verdict]:
    """Make the chosen attempts; what came of each, and of the control at each level.

    Raises:
        NoInterpreter: see there.
        AssertionError: the driver did not get to its end.
    """
    wanted = sorted(set(chosen), key=lambda pair: pair[0])
    command = _command(setting)
    shards = [shard for number in range(_SHARDS) if (shard := wanted[number::_SHARDS])]
    with ThreadPoolExecutor(_SHARDS) as threads:
        found = threads.map(lambda shard: _run(command, shard), shards)
        verdicts = [verdict for shard in found for verdict in shard]
    return {(verdict["level"], verdict["attempt"]): verdict for verdict in verdicts}


def _run(command: list[str], wanted: list[Chosen]) -> list[Verdict]:
    done = subprocess.run(
        command,
        input=json.dumps(wanted),
        capture_output=True,
        text=True,
        cwd=SOURCE,
        env=_environment(
            {
                SERVICE_SECRET: secrets.token_hex(16),
                HOW_MANY: os.environ.get(HOW_MANY, ""),
            }
        ),
        timeout=_PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def _command(setting: Setting) -> list[str]:
    arguments = ["-B", "-m", "tests.escape.driver", setting.runner]
    if setting.uid is None:
        return [sys.executable, *arguments]
    user = ["setpriv", f"--reuid={setting.uid}", f"--regid={setting.uid}", "--clear-groups"]
    for python in (sys.executable, shutil.which("python3", path="/usr/local/bin:/usr/bin")):
        if python is not None and _runs([*user, python]):
            return [*user, python, *arguments]
    raise NoInterpreter


def _runs(command: list[str]) -> bool:
    """Whether that interpreter is ours, or as good as ours.

    It must be able to start itself: who changes the user may still reach what the user may not.
    """
    version = ".".join(map(str, sys.version_info[:2]))
    check = (
        "import subprocess, sys, app.operations.sandbox.sandbox; "
        "subprocess.run([sys.executable, '-c', ''], check=True); "
        "print('%d.%d' % sys.version_info[:2])"
    )
    done = subprocess.run(
        [*command, "-B", "-c", check],
        capture_output=True,
        text=True,
        cwd=SOURCE,
        env=_environment(),
        check=False,
    )
    return done.returncode == 0 and done.stdout.strip() == version


def _environment(secret: dict[str, str] | None = None) -> dict[str, str]:
    """Nothing of ours, but where our packages are."""
    return {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": "/tmp",
        "TMPDIR": "/tmp",
        "PYTHONPATH": os.pathsep.join((str(SOURCE), sysconfig.get_paths()["purelib"])),
        **(secret or {}),
    }
