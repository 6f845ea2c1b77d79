"""`python -m benchmarks`: a table; `python -m benchmarks NAME --json`: one line per name.

Exit code: 0 measured, 1 a requested benchmark could not run, 2 usage.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from benchmarks import (
    agent_turns,
    audit,
    busy,
    decision,
    delegation,
    dispatch,
    egress,
    extraction,
    file_read,
    journal,
    memory,
    patches,
    rest,
    risk,
    sandbox,
    search,
    shell,
    startup,
    websocket,
    workers,
)
from benchmarks.command import Command
from benchmarks.harness import Benchmark

BENCHMARKS: tuple[Benchmark, ...] = (
    *dispatch.BENCHMARKS,
    *agent_turns.BENCHMARKS,
    *rest.BENCHMARKS,
    *websocket.BENCHMARKS,
    *journal.BENCHMARKS,
    *audit.BENCHMARKS,
    *risk.BENCHMARKS,
    *decision.BENCHMARKS,
    *file_read.BENCHMARKS,
    *memory.BENCHMARKS,
    *patches.BENCHMARKS,
    *search.BENCHMARKS,
    *extraction.BENCHMARKS,
    *shell.BENCHMARKS,
    *sandbox.BENCHMARKS,
    *egress.BENCHMARKS,
    *workers.BENCHMARKS,
    *startup.BENCHMARKS,
    *delegation.BENCHMARKS,
    *busy.BENCHMARKS,
)


def main(words: Sequence[str] | None = None) -> int:
    """Run the requested benchmarks; return the exit code."""
    return Command(
        "python -m benchmarks", "Measure what things cost against a floor that does the least."
    ).run(BENCHMARKS, words)


if __name__ == "__main__":
    sys.exit(main())
