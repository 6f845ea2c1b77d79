"""Risk analysis of a shell command, compared with splitting the same text into words.

`risk_dense` consists of the labelled commands. `risk_scripts` are real scripts of up to 4 KB from
this machine's packages.
"""

from __future__ import annotations

import json
import os
import random
import re
import shlex
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from stat import S_ISREG

from app.policy.risk.assess import assess_command, forget
from benchmarks.harness import (
    Benchmark,
    Compared,
    Result,
    Scale,
    Skipped,
    interleave,
    percentile,
    run,
)

CORPUS = Path(__file__).parents[1] / "tests" / "policy" / "risk" / "risk_cases_public.jsonl"
MAX_BYTES = 4096
DENSE_SCRIPTS = 60
REPEATS = 8
PACKAGED = ("/etc", "/usr", "/var/lib/dpkg/info")
FEWEST_SCRIPTS = 50
_SHELL_SCRIPT = re.compile(rb"#! ?/(?:usr/)?bin/(?:env )?(?:ba|da)?sh\b")
Work = Callable[[str], object]


def corpus() -> list[str]:
    """Return the labelled commands of up to 4 KB."""
    cases = [json.loads(line) for line in CORPUS.read_text(encoding="utf-8").splitlines()]
    commands = [case["command"] for case in cases if case.get("shell") != "windows"]
    return [command for command in commands if len(command.encode()) <= MAX_BYTES]


def dense_scripts() -> list[str]:
    """Return scripts of 4 KB, each full of short commands of every kind, one per line."""
    chance = random.Random(4)
    pool = [text for text in corpus() if len(text) < 200 and "<<" not in text]
    readable = [text for text in pool if text.isascii() and text.isprintable()]
    return [_dense(chance, readable) for _ in range(DENSE_SCRIPTS)]


def _dense(chance: random.Random, pool: list[str]) -> str:
    lines: list[str] = []
    size = 0
    while size < MAX_BYTES - 200:
        lines.append(chance.choice(pool))
        size += len(lines[-1]) + 1
    return "\n".join(lines)


def packaged_scripts(folders: Sequence[str] = PACKAGED) -> list[str]:
    """Return distinct shell scripts of up to 4 KB from packages installed in `folders`.

    Raises:
        Skipped: there are fewer than `FEWEST_SCRIPTS`.
    """
    found = list(dict.fromkeys(text for folder in folders for text in _scripts_in(folder)))
    if len(found) < FEWEST_SCRIPTS:
        places = ", ".join(folders)
        raise Skipped(f"only {len(found)} shell scripts of up to 4 KB under {places}")
    return found


def _scripts_in(folder: str) -> Iterator[str]:
    for parent, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = Path(parent, name)
            try:
                about = path.lstat()
                small = S_ISREG(about.st_mode) and about.st_size <= MAX_BYTES
                raw = path.read_bytes() if small else b""
            except OSError:
                continue
            if _SHELL_SCRIPT.match(raw):
                yield raw.decode("utf-8", "replace")


def hostile() -> dict[str, str]:
    """Return texts designed to be slow."""
    return {
        "200 KB of words": "echo " + "a " * 100_000,
        "20,000 segments": "true; " * 20_000,
        "20,000 lines": "rm a\n" * 20_000,
        "5,000 parentheses": "(" * 5_000 + "ls" + ")" * 5_000,
        "5,000 substitutions": "$(" * 5_000 + "ls" + ")" * 5_000,
        "5,000 backticks": "`" * 5_000,
        "10,000 pipes": "ls | " * 10_000 + "ls",
        "doubled variables": "x=aaaaaaaaaaaaaaaa;" + "x=$x$x;" * 3_000,
        "braces in braces": "echo " + "{a," * 10_000,
        "loops in loops": "for a in 1 2 3; do " * 40 + "ls;" + " done;" * 40,
        "brackets of Python": 'python3 -c "' + "(" * 20_000 + '"',
        "quotes of JavaScript": "node -e '" + '"a' * 15_000 + "'",
        "15,000 assignments": "env " + "A=1 " * 15_000 + "rm x",
        "functions that double": 'f0() { ls "$1"; }; '
        + "".join(f"f{at}() {{ f{at - 1} a; f{at - 1} b; }}; " for at in range(1, 25))
        + "f24",
        "500 functions named to 400 shells": "".join(f'f{at}() {{ "$1"; }}; ' for at in range(500))
        + "bash -c 'f1 a'; " * 400,
        "loops that move": "while :; do > f; cd a; done; " * 400,
        "1,400 alternatives": " || ".join(["cd a"] * 1_400),
        "files copied and run": "echo a > a; "
        + "".join(f"rsync a b{at}; " for at in range(60))
        + "; ".join(f"sh b{at}" for at in range(500)),
        "files in alternatives": " || ".join(f"echo a > f{at}" for at in range(1_000)),
    }


def _judge(text: str) -> None:
    assess_command(text)


def _judge_cold(text: str) -> None:
    forget()
    assess_command(text)


def _split(text: str) -> None:
    try:
        list(shlex.shlex(text, posix=True, punctuation_chars=True))
    except ValueError:
        text.split()


def _times(work: Work, texts: list[str], repeats: int) -> dict[str, float]:
    taken: list[float] = []
    for _ in range(repeats):
        for text in texts:
            start = time.thread_time_ns()
            work(text)
            taken.append((time.thread_time_ns() - start) / 1e3)
    return {"p50": percentile(taken, 0.5), "p99": percentile(taken, 0.99), "max": max(taken)}


async def _compare(scale: Scale, work: Work, texts: list[str]) -> Compared:
    repeats = scale.count(REPEATS, least=1)

    async def subject() -> dict[str, float]:
        return _times(work, texts, repeats)

    async def floor() -> dict[str, float]:
        return _times(_split, texts, repeats)

    return await interleave(scale.rounds, subject, floor)


def _verdicts(scale: Scale) -> list[Result]:
    results = [
        *_figures(scale, "risk_corpus", _judge_cold, corpus()),
        *_figures(scale, "risk_dense", _judge_cold, dense_scripts()),
        *_figures(scale, "risk_again", _judge, corpus()),
    ]
    compared = run(_compare(scale, _judge_cold, list(hostile().values())))
    return [*results, compared.result("risk_hostile_max", "CPU us/command", "max")]


def _figures(scale: Scale, name: str, work: Work, texts: list[str]) -> list[Result]:
    compared = run(_compare(scale, work, texts))
    return [
        compared.result(f"{name}_{figure}", "CPU us/command", figure) for figure in ("p50", "p99")
    ]


def _packaged(scale: Scale) -> list[Result]:
    return _figures(scale, "risk_scripts", _judge_cold, packaged_scripts())


BENCHMARKS = (
    Benchmark(
        (
            "risk_corpus_p50",
            "risk_corpus_p99",
            "risk_dense_p50",
            "risk_dense_p99",
            "risk_again_p50",
            "risk_again_p99",
            "risk_hostile_max",
        ),
        "the verdict on a shell command, nothing kept (corpus, dense 4 KB scripts, hostile text) "
        "and asked again; floor: splitting the text into words with shlex",
        _verdicts,
        {"risk_corpus_p99": 2_000, "risk_hostile_max": 50_000},
    ),
    Benchmark(
        ("risk_scripts_p50", "risk_scripts_p99"),
        "the verdict on whole shell scripts of up to 4 KB that the packages of this machine "
        "brought, nothing kept; floor: splitting the text into words with shlex",
        _packaged,
    ),
)
