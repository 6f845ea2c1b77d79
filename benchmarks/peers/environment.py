"""Interpreter that has the other frameworks: `make bench-peers` makes it from its lock."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import venv
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import cache
from pathlib import Path

from benchmarks.harness import Figures, Measure, Skipped
from benchmarks.served import ROOT, Served, serving_program, started

_VENV = ROOT / ".venv-peers"
_PYTHON = _VENV / "bin" / "python"
_LOCK = ROOT / "requirements" / "peers.txt"
PROGRAMS = Path(__file__).with_name("programs")


@cache
def interpreter() -> str:
    """Return the interpreter in `PEERS_PYTHON`, or that of the environment, which it makes.

    Raises:
        Skipped: the frameworks are not there and cannot be installed.
    """
    named = os.environ.get("PEERS_PYTHON")
    if named is None:
        _install()
    python = Path(named or _PYTHON)
    if not python.exists():
        raise Skipped(f"PEERS_PYTHON: {python} does not exist")
    return str(python)


def _install() -> None:
    """Install the frameworks as locked, unless they are there."""
    stamp = _VENV / "lock.sha256"
    wanted = hashlib.sha256(_LOCK.read_bytes()).hexdigest()
    if stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
        return
    print("Installing the other frameworks (about a minute the first time) ...", file=sys.stderr)
    venv.create(_VENV, clear=True, with_pip=True)
    options = ["-qq", "--no-deps", "--require-hashes", f"--requirement={_LOCK}"]
    done = subprocess.run([_PYTHON, "-m", "pip", "install", *options], check=False)
    if done.returncode:
        raise Skipped("the other frameworks could not be installed; pip says why above")
    stamp.write_text(wanted, encoding="utf-8")


def serving_peer(name: str, text: str = "") -> AbstractAsyncContextManager[Served]:
    """Run a server of `programs/servers.py` until the block ends; its events say `text`."""
    return serving_program(name, (interpreter(), str(PROGRAMS / "servers.py"), name, text))


@asynccontextmanager
async def measuring_peer(name: str, *, count: int, turns: int = 1) -> AsyncIterator[Measure]:
    """Run a framework of `programs/in_process.py`; yield what measures `count` calls or runs."""
    words = (interpreter(), str(PROGRAMS / "in_process.py"), name)
    async with started(*words) as process:
        reader, writer = process.stdout, process.stdin
        assert reader is not None
        assert writer is not None
        if not await reader.readline():
            raise Skipped(f"{name} did not start")

        async def measure() -> Figures:
            writer.write(json.dumps({"count": count, "turns": turns}).encode() + b"\n")
            line = await reader.readline()
            if not line:
                raise RuntimeError(f"{name} ended")
            return {"cpu": float(json.loads(line)["cpu"])}

        yield measure
