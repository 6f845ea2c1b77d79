"""`python -m benchmarks.growth`: the cost of each list and call at several sizes.

Exit code: 0 measured, 1 a line grows more than it may, 2 usage.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.growth import report
from benchmarks.growth.build import Contents
from benchmarks.growth.folders import DataFolders, UnusableFolder
from benchmarks.growth.line import Dimension
from benchmarks.growth.lines import LINES
from benchmarks.growth.measure import LineGrowth, Sizes, measure
from benchmarks.harness import Skipped, forget_settings, matching, run

ROUNDS = 5
_DEFAULTS: dict[Dimension, tuple[int, ...]] = {
    Dimension.SESSIONS: (1_000, 30_000, 108_000),
    Dimension.RULES: (0, 100, 1_000),
    Dimension.AGENTS: (0, 100, 1_000),
    Dimension.TOOLS: (0, 100, 1_000),
    Dimension.EVENTS: (100, 1_000, 10_000),
}
_HELP = {
    Dimension.SESSIONS: "numbers of sessions",
    Dimension.RULES: "numbers of rules",
    Dimension.AGENTS: "numbers of agents, besides the four that own sessions",
    Dimension.TOOLS: "numbers of plugin tools, besides the built-in ones",
    Dimension.EVENTS: "numbers of events of the long sessions in each folder",
}


def main(words: Sequence[str] | None = None) -> int:
    """Measure the requested lines; return the exit code."""
    parser = _parser()
    options = parser.parse_args(words)
    if options.list:
        print("\n".join(f"{line.name}: {line.about}" for line in LINES))
        return 0
    try:
        names = matching(options.only, [line.name for line in LINES])
    except LookupError as unknown:
        parser.error(f"no line is called {unknown.args[0]!r}; --list shows them")
    sizes: Sizes = {dimension: getattr(options, dimension) for dimension in Dimension}
    forget_settings()
    if options.keep is not None:
        options.keep.mkdir(parents=True, exist_ok=True)
    # Below the kept folder, so that copies are on the same disk.
    work = Path(tempfile.mkdtemp(prefix="tollgate-bench-", dir=options.keep))
    try:
        folders = DataFolders(options.keep or work, sizes[Dimension.EVENTS])
        found = run(_measured(names, sizes, folders, work, options.rounds))
    except (UnusableFolder, Skipped) as error:
        parser.error(str(error))
    finally:
        shutil.rmtree(work, ignore_errors=True)
    _print(found, folders.used, options.rounds, options.json)
    grown = [one.line.name for one in found if not one.is_ok]
    if grown:
        print(f"These lines grow more than they may: {', '.join(grown)}", file=sys.stderr)
    return 1 if grown else 0


async def _measured(
    names: set[str], sizes: Sizes, folders: DataFolders, work: Path, rounds: int
) -> list[LineGrowth]:
    lines = [line for line in LINES if line.name in names]
    return [one async for one in measure(lines, sizes, folders, work, rounds=rounds)]


def _print(
    found: Sequence[LineGrowth], contents: Sequence[Contents], rounds: int, file: Path | None
) -> None:
    print(report.table(found))
    machine = f"{report.machine()}; median of {rounds} rounds"
    print("", machine, *map(report.contents_line, contents), sep="\n")
    if file is not None:
        folders = {one.sessions: one.counts for one in contents}
        lines = [report.to_dict(one) for one in found]
        value = {"machine": machine, "rounds": rounds, "folders": folders, "lines": lines}
        file.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")


def _sizes(text: str) -> tuple[int, ...]:
    """Parse numbers that increase, at least two."""
    numbers = tuple(int(word) for word in text.split(","))
    if len(numbers) < 2 or numbers[0] < 0 or list(numbers) != sorted(set(numbers)):
        raise ValueError(text)
    return numbers


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.growth",
        description="Measure the cost of lists and calls at several sizes of an installation.",
    )
    for dimension, default in _DEFAULTS.items():
        parser.add_argument(
            "--sizes" if dimension is Dimension.SESSIONS else f"--{dimension}",
            dest=dimension,
            type=_sizes,
            default=default,
            metavar="N,N,…",
            help=f"{_HELP[dimension]} [default: {','.join(map(str, default))}]",
        )
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="only these lines")
    parser.add_argument("--list", action="store_true", help="list the lines")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="reuse data folders built here")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the result as JSON")
    parser.add_argument(
        "--rounds",
        type=int,
        default=ROUNDS,
        help="samples per line and size [default: %(default)s]",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
