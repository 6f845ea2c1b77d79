"""`python -m benchmarks`: a table; `python -m benchmarks NAME --json`: one line per name.

Exit code: 0 measured, 1 a requested benchmark could not run, 2 usage.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

from benchmarks import (
    audit,
    busy,
    decision,
    delegation,
    dispatch,
    extraction,
    file_read,
    journal,
    memory,
    patches,
    peers,
    rest,
    risk,
    sandbox,
    search,
    shell,
    startup,
    websocket,
    workers,
)
from benchmarks.harness import (
    FULL,
    QUICK,
    SMOKE,
    Benchmark,
    Result,
    Scale,
    Skipped,
    forget_settings,
    matching,
)

BENCHMARKS: tuple[Benchmark, ...] = (
    *dispatch.BENCHMARKS,
    *peers.BENCHMARKS,
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
    *workers.BENCHMARKS,
    *startup.BENCHMARKS,
    *delegation.BENCHMARKS,
    *busy.BENCHMARKS,
)
_ROW = "{:22} {:>12} {:>12} {:>8}  {:32} {}"


def main(words: Sequence[str] | None = None) -> int:
    """Run the requested benchmarks; return the exit code."""
    options = _parser().parse_args(words)
    wanted = _wanted(options.names)
    if options.list:
        for benchmark in BENCHMARKS:
            print(f"{', '.join(benchmark.names)}\n    {benchmark.about}")
        return 0
    scale = SMOKE if options.smoke else QUICK if options.quick else FULL
    if not options.json:
        print(_ROW.format("name", "subject", "floor", "ratio", "unit", "budget"))
    forget_settings()
    left_out = False
    for benchmark in BENCHMARKS:
        names = [name for name in benchmark.names if name in wanted]
        if names and not _measure(benchmark, names, scale, as_json=options.json):
            left_out = True
    return 1 if left_out and options.names else 0


def _measure(benchmark: Benchmark, names: list[str], scale: Scale, *, as_json: bool) -> bool:
    """Print the results of `names`; False if the benchmark was skipped."""
    try:
        results = benchmark.run(scale)
    except Skipped as reason:
        print(f"{', '.join(names)}: skipped, {reason}", file=sys.stderr if as_json else sys.stdout)
        return False
    for result in results:
        if result.name in names:
            line = json.dumps(result.to_dict()) if as_json else _row(benchmark, result)
            print(line, flush=True)
    return True


def _row(benchmark: Benchmark, result: Result) -> str:
    ratio = "-" if result.ratio is None else f"{result.ratio:.2f}"
    budget = benchmark.budgets.get(result.name)
    return _ROW.format(
        result.name,
        f"{result.subject:,.1f}",
        f"{result.floor:,.1f}",
        ratio,
        result.unit,
        "" if budget is None else f"<= {budget:g}",
    ).rstrip()


def _wanted(patterns: list[str]) -> set[str]:
    """Return the requested names, or all."""
    try:
        return matching(patterns, [name for benchmark in BENCHMARKS for name in benchmark.names])
    except LookupError as unknown:
        _parser().error(f"no benchmark is called {unknown.args[0]!r}; --list shows them")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Measure what things cost against a floor that does the least.",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these; * matches any text")
    parser.add_argument("--json", action="store_true", help="one line of JSON per result")
    parser.add_argument("--list", action="store_true", help="what there is")
    parser.add_argument("--quick", action="store_true", help="fewer turns, fewer operations")
    parser.add_argument(
        "--smoke", action="store_true", help="only whether everything runs: figures mean nothing"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
