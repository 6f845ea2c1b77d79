"""Bare tool call in other frameworks, for comparison with `dispatch` in the same run.

They are not dependencies of this project. Install them into a separate environment and set its
interpreter: `PEERS_PYTHON=/path/to/python python -m benchmarks 'peer_*' dispatch` (packages:
pydantic-ai-slim, openai-agents, fastmcp, langgraph, langchain-core).
"""

from __future__ import annotations

import json
import os
import subprocess
from functools import partial
from pathlib import Path

from benchmarks.harness import Benchmark, Result, Scale, Skipped
from benchmarks.peer_calls import PEERS

_SCRIPT = Path(__file__).with_name("peer_calls.py")


def _measure(name: str, scale: Scale) -> list[Result]:
    python = os.environ.get("PEERS_PYTHON")
    if not python:
        raise Skipped("PEERS_PYTHON names no interpreter that has the other frameworks")
    command = [python, str(_SCRIPT), name, str(scale.rounds), str(scale.share)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    if done.returncode:
        raise Skipped((done.stderr.strip().splitlines() or ["it failed"])[-1])
    found = json.loads(done.stdout.strip().splitlines()[-1])
    return [Result(name, found["subject"], found["floor"], "CPU us/call", found["runs"])]


BENCHMARKS = tuple(
    Benchmark((name,), (build.__doc__ or name).strip(), partial(_measure, name))
    for name, (build, _) in PEERS.items()
)
