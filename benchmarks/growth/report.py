"""Table and JSON of measured lines."""

from __future__ import annotations

import os
import platform
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.growth.build import Contents
from benchmarks.growth.measure import LineGrowth

_HEAD = ("CPU ms of the service per request (p50 ms)", "expected")
_TAIL = ("ratio", "allowed", "spread", "verdict")


def table(found: Sequence[LineGrowth]) -> str:
    """Return a Markdown table with the sizes as columns; a row in bold begins each dimension."""
    most = max(len(one.sizes) for one in found)
    middle = ["smallest", *[""] * (most - 2), "largest"]
    rows = [_row([*_HEAD, *middle, *_TAIL]), _row(["---"] * (len(_HEAD) + most + len(_TAIL)))]
    dimension = None
    for one in found:
        if one.line.along is not dimension:
            dimension = one.line.along
            sizes = [f"**{size:,}**" for size in one.sizes]
            rows.append(_row([f"**by {dimension}**", "", *_padded(sizes, most), *[""] * 4]))
        costs = zip(one.cpu_ms, one.p50_ms, strict=True)
        cells = [f"{_figure(cpu)} ({_figure(wall)})" for cpu, wall in costs]
        rows.append(
            _row(
                [
                    f"{one.line.name}: {one.line.about}",
                    one.line.expects,
                    *_padded(cells, most),
                    f"{one.ratio:.2f}",
                    f"{one.allowed:g}",
                    f"{100 * spread(one):.0f} %",
                    "ok" if one.is_ok else "**grows**",
                ]
            )
        )
    return "\n".join(rows)


def spread(found: LineGrowth) -> float:
    """Return the largest distance between samples of one size, as a share of their median."""
    pairs = zip(found.rounds_ms, found.cpu_ms, strict=True)
    return max((max(taken) - min(taken)) / median for taken, median in pairs)


def to_dict(found: LineGrowth) -> dict[str, Any]:
    """Return one line for `--json`; times are milliseconds per request, by size."""
    return {
        "name": found.line.name,
        "about": found.line.about,
        "dimension": found.line.along,
        "sizes": list(found.sizes),
        "expects": found.line.expects,
        "cpu_ms": _rounded(found.cpu_ms),
        "cpu_ms_of_rounds": [_rounded(taken) for taken in found.rounds_ms],
        "p50_ms": _rounded(found.p50_ms),
        "ratio": round(found.ratio, 3),
        "allowed": found.allowed,
        "ok": found.is_ok,
    }


def machine() -> str:
    """Return one line about the machine."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 30
    load = " ".join(f"{value:.1f}" for value in os.getloadavg())
    return (
        f"{os.cpu_count()} × {_processor()}, {memory} GiB, {platform.system()} "
        f"{platform.release()}, {platform.python_implementation()} {platform.python_version()}, "
        f"SQLite {sqlite3.sqlite_version}, load {load}"
    )


def contents_line(contents: Contents) -> str:
    """Return one line about a data folder."""
    counts = ", ".join(f"{count:,} {name}" for name, count in contents.counts.items())
    return f"folder of {contents.sessions:,} sessions: {counts}"


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.machine()
    names = [line.partition(":")[2] for line in text.splitlines() if line.startswith("model name")]
    return " ".join(names[0].split()) if names else platform.machine()


def _figure(milliseconds: float) -> str:
    return f"{milliseconds:,.0f}" if milliseconds >= 100 else f"{milliseconds:.3g}"


def _padded(cells: Sequence[str], most: int) -> list[str]:
    return [*cells, *[""] * (most - len(cells))]


def _rounded(values: Iterable[float]) -> list[float]:
    return [round(value, 4) for value in values]


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
