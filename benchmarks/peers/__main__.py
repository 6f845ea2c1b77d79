"""Tollgate beside its peers, in turns, in one run.

    make bench-peers ARGS="[NAME...] [--json] [--quick]"

A ratio below 1 means that Tollgate costs less. Lines without a framework in their name compare
with the bare part: FastAPI, ripgrep, Python.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Sequence

from benchmarks import rest, search, startup, websocket
from benchmarks.command import Command
from benchmarks.harness import Benchmark
from benchmarks.peers import extraction, in_process, network

BENCHMARKS: tuple[Benchmark, ...] = (
    *in_process.BENCHMARKS,
    *network.BENCHMARKS,
    *rest.BENCHMARKS,
    *(one for one in websocket.BENCHMARKS if one.names[0] in {"ws_call", "ws_single"}),
    *extraction.BENCHMARKS,
    *search.BENCHMARKS,
    *startup.BENCHMARKS,
)


def main(words: Sequence[str] | None = None) -> int:
    """Run the requested comparisons; return the exit code."""
    command = Command(
        "python -m benchmarks.peers",
        "Measure what things cost beside other frameworks.",
        subject="Tollgate",
        compared="peer",
    )
    print(_machine(), file=sys.stderr)
    return command.run(BENCHMARKS, words)


def _machine() -> str:
    """Return one line about this machine."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, {memory:.0f} GiB,"
        f" {platform.python_implementation()} {platform.python_version()}"
    )


if __name__ == "__main__":
    sys.exit(main())
