"""Command line of the benchmarks: choice of lines, table, JSON."""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

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

# A ratio varies by half on a busy machine; what grows by mistake grows by more.
_BAND = 2.5
_ROW = "{:26} {:>12} {:>12} {:>8} {:>8}  {:32} {}"


@dataclass(frozen=True, slots=True)
class Command:
    """A program that measures. `compared` heads the second column, `subject` the first."""

    program: str
    about: str
    subject: str = "subject"
    compared: str = "floor"

    def run(self, benchmarks: Sequence[Benchmark], words: Sequence[str] | None) -> int:
        """Run the requested benchmarks and print them.

        Returns:
            0 measured, 1 a requested benchmark could not run or a stored ratio was exceeded by far.
            A usage error exits with 2.
        """
        options = self._parser().parse_args(words)
        stored = _stored(options.against)
        wanted = self._wanted(benchmarks, options.names or list(stored))
        if options.list:
            for benchmark in benchmarks:
                print(f"{', '.join(benchmark.names)}\n    {benchmark.about}")
            return 0
        scale = SMOKE if options.smoke else QUICK if options.quick else FULL
        if not options.json:
            heads = ("name", self.subject, self.compared, "ratio", "spread", "unit", "budget")
            print(_ROW.format(*heads))
        forget_settings()
        ended = _Ended()
        for benchmark in benchmarks:
            if names := [name for name in benchmark.names if name in wanted]:
                ended += _measured(benchmark, names, scale, stored, as_json=options.json)
        for line in ended.grown:
            print(line, file=sys.stderr)
        return 1 if ended.grown or (ended.skipped and (options.names or stored)) else 0

    def _wanted(self, benchmarks: Sequence[Benchmark], patterns: list[str]) -> set[str]:
        """Return the requested names, or all."""
        try:
            return matching(patterns, [name for one in benchmarks for name in one.names])
        except LookupError as unknown:
            self._parser().error(f"no benchmark is called {unknown.args[0]!r}; --list shows them")

    def _parser(self) -> argparse.ArgumentParser:
        parser = argparse.ArgumentParser(prog=self.program, description=self.about)
        parser.add_argument(
            "names", nargs="*", metavar="NAME", help="only these; * matches any text"
        )
        parser.add_argument("--json", action="store_true", help="one line of JSON per result")
        parser.add_argument("--list", action="store_true", help="what there is")
        parser.add_argument("--quick", action="store_true", help="fewer turns, fewer operations")
        parser.add_argument(
            "--smoke",
            action="store_true",
            help="only whether everything runs: figures mean nothing",
        )
        parser.add_argument(
            "--against",
            type=Path,
            metavar="FILE",
            help="ratios by name: measure those, and fail if one is over 2.5 times as high",
        )
        return parser


@dataclass(slots=True)
class _Ended:
    """What went wrong: names that were skipped, and a line for each ratio that grew."""

    skipped: list[str] = field(default_factory=list)
    grown: list[str] = field(default_factory=list)

    def __iadd__(self, other: _Ended) -> _Ended:
        self.skipped += other.skipped
        self.grown += other.grown
        return self


def _stored(file: Path | None) -> dict[str, float]:
    ratios: dict[str, float] = {} if file is None else json.loads(file.read_bytes())
    return ratios


def _measured(
    benchmark: Benchmark,
    names: list[str],
    scale: Scale,
    stored: dict[str, float],
    *,
    as_json: bool,
) -> _Ended:
    """Measure and print the results of `names`."""
    try:
        results = [result for result in benchmark.run(scale) if result.name in names]
    except Skipped as reason:
        place = sys.stderr if as_json else sys.stdout
        print(f"{', '.join(names)}: skipped, {reason}", file=place)
        return _Ended(skipped=names)
    ended = _Ended()
    for result in results:
        print(json.dumps(result.to_dict()) if as_json else _row(benchmark, result), flush=True)
        limit = _BAND * stored.get(result.name, math.inf)
        if result.ratio is not None and result.ratio > limit:
            ended.grown.append(f"{result.name}: {result.ratio:.2f} is more than {limit:.2f}")
    return ended


def _row(benchmark: Benchmark, result: Result) -> str:
    budget = benchmark.budgets.get(result.name)
    return _ROW.format(
        result.name,
        f"{result.subject:,.1f}",
        f"{result.floor:,.1f}",
        "-" if result.ratio is None else f"{result.ratio:.2f}",
        "-" if result.spread is None else f"{100 * result.spread:.0f} %",
        result.unit,
        "" if budget is None else f"<= {budget:g}",
    ).rstrip()
