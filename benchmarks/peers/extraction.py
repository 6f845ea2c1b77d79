"""Content extraction from web pages, Tollgate's beside trafilatura's better mode."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from typing import Any

from benchmarks.extraction import extracted, milliseconds, pages, quality
from benchmarks.harness import Benchmark, Result, Scale, Skipped
from benchmarks.peers.environment import PROGRAMS, interpreter


def _measured(scale: Scale) -> list[Result]:
    chosen = pages()
    plain, blind = [page.html for page in chosen], [page.blind for page in chosen]
    results = []
    for name, htmls in (("extract", plain), ("extract_blind", blind)):
        ways = _trafilatura(htmls)
        best = max(ways.values(), key=lambda way: quality(way["texts"]))
        ours = quality([extracted(html) for html in htmls])
        theirs = quality(best["texts"])
        results.append(Result(f"{name}_f1_peer", ours, theirs, "F1 of words", len(htmls)))
        took = best["seconds"] * 1000 / len(htmls)
        results.append(
            Result(f"{name}_ms_peer", milliseconds(htmls, scale), took, "CPU ms/page", scale.rounds)
        )
    return results


def _trafilatura(htmls: Sequence[str]) -> dict[str, dict[str, Any]]:
    done = subprocess.run(
        [interpreter(), str(PROGRAMS / "extraction.py")],
        input=json.dumps(htmls),
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    if done.returncode:
        raise Skipped((done.stderr.strip().splitlines() or ["it failed"])[-1])
    ways: dict[str, dict[str, Any]] = json.loads(done.stdout)
    return ways


BENCHMARKS = (
    Benchmark(
        ("extract_f1_peer", "extract_ms_peer", "extract_blind_f1_peer", "extract_blind_ms_peer"),
        "the content of installed documentation; peer: trafilatura, in its better mode",
        _measured,
    ),
)
