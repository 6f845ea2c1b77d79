"""Mutation testing: small faults inserted into the product, one at a time.

    .venv/bin/python -m scripts.mutations [--count 60] [--seed 22] [--tree PATH] [--json FILE]
        [--coverage FILE] [--workers 1] [--silence 300] [--list]

`--list` only prints the faults. The same sources under `app/` and the same seed give the same
faults, so `--tree` with the tests of another commit compares those tests with these.

Everything runs in a copy of the tree in a temporary folder. First run the tests of the same folder
and those that import the module, up to the first failure; when none fails, all that import anything
of its package, themselves or by their helpers. With `--coverage`, the data of a run with
`--cov-context=test`, also run each test file of which a test executes the function or class around
the fault, in place of the second set. Tests that also fail without the fault are excluded
from then on. If no test ends for `--silence` seconds the fault counts as caught. Exit code 1 if a
fault was not caught.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from coverage import CoverageData

from scripts.mutants import Mutation, chosen

ROOT = Path(__file__).resolve().parent.parent
# Includes the built pages of `app/web`, which tests open.
_LEFT_BEHIND = shutil.ignore_patterns(
    *(".git", ".venv", "node_modules", "__pycache__", ".*_cache", ".hypothesis", ".coverage*")
)
_NO_TEST_RAN = 5


@dataclass(frozen=True)
class Ending:
    """Result of the tests: `passed`, `failed` (with the test) or `hang`."""

    state: str
    by: str = ""
    output: str = ""


@dataclass(frozen=True)
class Verdict:
    """Result of one fault: `caught`, `hang` or `survived`; `tests` are the files that ran."""

    verdict: str
    by: str
    tests: int


class Imports:
    """Imports of product modules by files under `tests/`."""

    def __init__(self, tree: Path) -> None:
        self._tree = tree
        self._names = {
            path.relative_to(tree).as_posix(): _imported(path)
            for path in sorted((tree / "tests").rglob("*.py"))
        }
        self._reached: dict[str, frozenset[str]] = {}

    def near(self, mutation: Mutation) -> list[str]:
        """Return the tests of the same folder, its namesake first, and those that import the
        module.
        """
        folder = "tests" + mutation.package.removeprefix("app")
        while folder != "tests" and not list((self._tree / folder).glob("test_*.py")):
            folder = folder.rpartition("/")[0]
        module = _module(mutation.file)
        namesake = f"test_{mutation.file.rpartition('/')[2]}"
        tests = [
            name
            for name in self._tests()
            if name.rpartition("/")[0] == folder or _within(self._names[name], module)
        ]
        return sorted(tests, key=lambda name: (not name.endswith(namesake), folder not in name))

    def wide(self, mutation: Mutation) -> list[str]:
        """Return the tests that import anything of the same package, also through helpers."""
        package = mutation.package.replace("/", ".")
        return [name for name in self._tests() if _within(self._all(name), package)]

    def _tests(self) -> list[str]:
        return [name for name in self._names if name.rpartition("/")[2].startswith("test_")]

    def _all(self, name: str) -> frozenset[str]:
        """Return all imports of a file, including those of test helpers and fixtures."""
        if name not in self._reached:
            folders = Path(name).parents
            seen: set[str] = set()
            ahead = [name, *(f"{folder.as_posix()}/conftest.py" for folder in folders)]
            while ahead:
                one = ahead.pop()
                if one in seen or one not in self._names:
                    continue
                seen.add(one)
                for imported in self._names[one]:
                    path = imported.replace(".", "/")
                    ahead += [f"{path}.py", f"{path.rpartition('/')[0]}.py"]
            self._reached[name] = frozenset().union(*(self._names[one] for one in seen))
        return self._reached[name]


def _imported(path: Path) -> frozenset[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return frozenset(names)


def _module(file: str) -> str:
    return file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _within(names: frozenset[str], module: str) -> bool:
    return any(name == module or name.startswith(f"{module}.") for name in names)


class Executed:
    """Test files that execute a part of a module, as recorded by `--cov-context=test`."""

    def __init__(self, file: Path) -> None:
        self._data = CoverageData(str(file))
        self._data.read()
        self._measured = {name.partition("/app/")[2]: name for name in self._data.measured_files()}

    def files(self, mutation: Mutation, source: bytes) -> list[str]:
        """Return the files of the tests that enter the innermost function or class."""
        name = self._measured.get(mutation.file.removeprefix("app/"))
        if name is None:
            return []
        lines = _around(source, mutation.line)
        found: set[str] = set()
        for line, contexts in self._data.contexts_by_lineno(name).items():
            if line in lines:
                found.update(context.partition("::")[0] for context in contexts)
        return sorted(found - {""})


def _around(source: bytes, line: int) -> range:
    """Return the lines of the innermost function or class; of the module outside of one."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    lines = range(1, source.count(b"\n") + 2)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, kinds) and node.end_lineno is not None:
            own = range(node.lineno, node.end_lineno + 1)
            if line in own and len(own) < len(lines):
                lines = own
    return lines


class Trial:
    """Copy of the tree in which tests run with and without a fault."""

    def __init__(
        self,
        tree: Path,
        folder: Path,
        *,
        executed: Executed | None = None,
        workers: int = 1,
        silence: float = 300,
    ) -> None:
        self.tree = folder / "tree"
        self._executed = executed
        shutil.copytree(tree, self.tree, ignore=_LEFT_BEHIND, symlinks=True)
        # Some tests ask git for the list of files.
        subprocess.run(["git", "init", "--quiet", str(self.tree)], check=True)  # noqa: S607
        self._imports = Imports(self.tree)
        self._cache = folder / "cache"
        self._workers = ("-n", str(workers)) if workers > 1 else ()
        self._silence = silence
        self._unfit: set[str] = set()
        self._writes = 0

    def judge(self, mutation: Mutation) -> Verdict:
        """Run the tests near the fault, and the wider set if none of them failed."""
        near = self._imports.near(mutation)
        wide = [name for name in self._wide(mutation) if name not in near]
        for number, files in enumerate((near, wide)):
            ending = self._outcome(mutation, files)
            if ending.state != "passed":
                verdict = "caught" if ending.state == "failed" else ending.state
                return Verdict(verdict, ending.by, len(near) + len(wide) * number)
        return Verdict("survived", "", len(near) + len(wide))

    def _wide(self, mutation: Mutation) -> list[str]:
        if self._executed is not None:
            source = (self.tree / mutation.file).read_bytes()
            if files := self._executed.files(mutation, source):
                return [name for name in files if (self.tree / name).exists()]
        return self._imports.wide(mutation)

    def _outcome(self, mutation: Mutation, files: Sequence[str]) -> Ending:
        """Run with the fault until a test fails that passes without it."""
        source = (self.tree / mutation.file).read_bytes()
        while True:
            self._write(mutation.file, mutation.applied(source))
            try:
                ending = self.run(files)
            finally:
                self._write(mutation.file, source)
            if ending.state != "failed":
                return ending
            again = self.run([ending.by] if ending.by else ["--collect-only", *files])
            if again.state == "passed":
                return ending
            if not ending.by:
                raise RuntimeError(f"the tests do not start without a fault:\n{again.output}")
            self._unfit.add(ending.by)

    def run(self, names: Sequence[str]) -> Ending:
        """Run tests up to the first failure."""
        if not names:
            return Ending("passed")
        shutil.rmtree(self._cache, ignore_errors=True)
        command = [sys.executable, "-m", "pytest", "-x", "-q", "--tb=line", *self._workers]
        command += ["-o", f"cache_dir={self._cache}", "-p", "no:cov"]
        # A file with a failing import is excluded as a whole.
        command += [
            f"--{'deselect' if '::' in name else 'ignore'}={name}" for name in sorted(self._unfit)
        ]
        with subprocess.Popen(
            [*command, *names],
            cwd=self.tree,
            env={**os.environ, "PYTHONPATH": str(self.tree), "PYTHONUNBUFFERED": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process:
            try:
                output, ended = _read(process, self._silence)
            finally:
                _end(process)
        if not ended:
            return Ending("hang", output=output)
        state = "passed" if process.returncode in {0, _NO_TEST_RAN} else "failed"
        return Ending(state, self._failed(), output)

    def _failed(self) -> str:
        """Return the failed test, or the file with the failed import."""
        kept = self._cache / "v" / "cache" / "lastfailed"
        return next(iter(json.loads(kept.read_bytes())), "") if kept.exists() else ""

    def _write(self, file: str, source: bytes) -> None:
        """Write a module so that Python compiles it again: bytecode is compared by time."""
        path = self.tree / file
        path.write_bytes(source)
        self._writes += 1
        moment = path.stat().st_mtime + self._writes
        os.utime(path, (moment, moment))


def _read(process: subprocess.Popen[bytes], silence: float) -> tuple[str, bool]:
    """Return the output, and whether the process ended before the period of silence."""
    assert process.stdout is not None
    output = b""
    heard = time.monotonic()
    while time.monotonic() - heard < silence:
        over = process.poll() is not None
        if select.select([process.stdout], [], [], 0 if over else 1)[0]:
            data = os.read(process.stdout.fileno(), 65536)
            if not data:
                process.wait()
                break
            output += data
            heard = time.monotonic()
        elif over:  # child processes may hold its output open
            break
    return output.decode(errors="replace"), process.returncode is not None


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the tests with their process group."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def report(mutation: Mutation, verdict: Verdict, source: bytes) -> dict[str, Any]:
    """Return one fault with its result, in the form of the JSON file."""
    return {**asdict(mutation), **asdict(verdict), "diff": mutation.diff(source)}


def render(entry: dict[str, Any]) -> str:
    """Return one line for a fault; with its diff if no test failed."""
    line = f"{entry['verdict']:<9} {entry['file']}:{entry['line']}  {entry['kind']}"
    if entry["by"]:
        line += f"  by {entry['by']}"
    return line if entry["verdict"] != "survived" else f"{line}\n{entry['diff']}"


def _arguments(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Put small faults in: do the tests see them?")
    parser.add_argument("--count", type=int, default=60, help="how many faults")
    parser.add_argument("--seed", type=int, default=22, help="which of the possible ones")
    parser.add_argument("--tree", type=Path, default=ROOT, help="the tree that holds app and tests")
    parser.add_argument("--coverage", type=Path, help="data of a run with --cov-context=test")
    parser.add_argument("--json", type=Path, help="where to keep the results as they come")
    parser.add_argument("--workers", type=int, default=1, help="processes that run tests")
    parser.add_argument("--silence", type=float, default=300, help="seconds that are a hang")
    parser.add_argument("--list", action="store_true", help="name the faults and run nothing")
    return parser.parse_args(words)


def main(words: Sequence[str]) -> int:
    """Test every chosen fault; return 0 if all were caught."""
    options = _arguments(words)
    tree = options.tree.resolve()
    picked = chosen(tree, count=options.count, seed=options.seed)
    if options.list:
        print("\n\n".join(f"{one.kind}\n{one.diff(_source(tree, one))}" for one in picked))
        return 0
    entries: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="tollgate-mutations-") as name:
        executed = None if options.coverage is None else Executed(options.coverage)
        limits = {"workers": options.workers, "silence": options.silence}
        trial = Trial(tree, Path(name), executed=executed, **limits)
        for mutation in picked:
            entry = report(mutation, trial.judge(mutation), _source(tree, mutation))
            entries.append(entry)
            print(render(entry), flush=True)
            if options.json is not None:
                kept = {"seed": options.seed, "count": options.count, "mutations": entries}
                options.json.write_text(json.dumps(kept, indent=1), encoding="utf-8")
    survived = sum(entry["verdict"] == "survived" for entry in entries)
    print(f"{len(entries) - survived} of {len(entries)} caught")
    return 1 if survived else 0


def _source(tree: Path, mutation: Mutation) -> bytes:
    return (tree / mutation.file).read_bytes()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
