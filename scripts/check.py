"""Run every gate and print the results; exit 1 if one fails.

    .venv/bin/python scripts/check.py [--no-tests] [--gate NAME]

The same script runs locally (`make check`), before a commit (`.pre-commit-config.yaml`) and in
continuous integration. Architecture rules (sizes, house rules, locks) are tests and run with the
others.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = Path(sys.executable).parent
GATE_SECONDS = 1800


@dataclass(frozen=True)
class Gate:
    """One command that must exit 0."""

    name: str
    command: tuple[str, ...]


@dataclass(frozen=True)
class Outcome:
    """Result of a gate; `seconds` is wall-clock time."""

    name: str
    passed: bool
    seconds: float
    output: str


def gates(*, tests: bool) -> list[Gate]:
    """List the gates, fast ones first."""

    def program(name: str) -> str:
        return str(PROGRAMS / name)

    listed = [
        Gate("format", (program("ruff"), "format", "--check", ".")),
        Gate("lint", (program("ruff"), "check", ".")),
        Gate("imports", (program("lint-imports"),)),
        Gate("types", (program("mypy"),)),
    ]
    generator = ROOT / "scripts" / "generate_docs.py"
    if generator.exists():
        listed.append(Gate("generated docs", (sys.executable, str(generator), "--check")))
    if tests:
        listed.append(
            Gate(
                "tests, branch coverage",
                (sys.executable, "-m", "pytest", "--cov", "--cov-branch", "--cov-report=term"),
            )
        )
    return listed


def run(gate: Gate) -> Outcome:
    """Run one gate; a missing, hanging or crashing gate has failed."""
    started = time.monotonic()
    try:
        done = subprocess.run(
            gate.command,
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            timeout=GATE_SECONDS,
            check=False,
        )
        passed, output = done.returncode == 0, done.stdout
    except subprocess.TimeoutExpired:
        passed, output = False, f"no end after {GATE_SECONDS} s"
    except OSError as error:
        passed, output = False, f"{error}\nRun `make check`: it installs what the gates need."
    return Outcome(gate.name, passed, time.monotonic() - started, output)


def table(outcomes: Sequence[Outcome]) -> str:
    """Render one line for each gate."""
    width = max(len(outcome.name) for outcome in outcomes)
    return "\n".join(
        f"{outcome.name:<{width}}  {outcome.seconds:7.1f} s  {'OK' if outcome.passed else 'FAIL'}"
        for outcome in outcomes
    )


def main(arguments: Sequence[str]) -> int:
    """Run the gates; return 0 if all pass."""
    parser = argparse.ArgumentParser(description="Run every gate of the project.")
    parser.add_argument("--no-tests", action="store_true", help="leave the test suite out")
    every = gates(tests=True)
    parser.add_argument(
        "--gate", choices=[gate.name for gate in every], metavar="NAME", help="run this one alone"
    )
    chosen = parser.parse_args(arguments)
    wanted = [gate for gate in every if gate.name == chosen.gate]
    outcomes = []
    for gate in wanted or gates(tests=not chosen.no_tests):
        outcome = run(gate)
        if not outcome.passed or "--cov" in gate.command:
            print(f"--- {gate.name}: {' '.join(gate.command)}\n{outcome.output}", flush=True)
        outcomes.append(outcome)
    print(table(outcomes))
    return 0 if all(outcome.passed for outcome in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
