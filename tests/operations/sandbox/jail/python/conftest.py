from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.source import ROOT


@dataclass(frozen=True)
class Ran:
    """How a piece of code ended."""

    status: int
    stdout: str
    stderr: str
    value: str | None
    error: str | None


class Python:
    """Runs code as the payload does, but for the walls."""

    def __init__(self, forker: subprocess.Popen[str], folder: Path) -> None:
        self._forker = forker
        self.folder = folder

    def __call__(
        self,
        code: str,
        level: str = "standard",
        modules: tuple[str, ...] = (),
        paths: tuple[str, ...] = (),
    ) -> Ran:
        cwd = self.folder / "cwd"
        cwd.mkdir(exist_ok=True)
        files = {name: self.folder / name for name in ("stdout", "stderr", "report")}
        job = {
            "code": code,
            "level": level,
            "modules": modules,
            "paths": paths,
            "cwd": str(cwd),
            **{name: str(path) for name, path in files.items()},
        }
        assert self._forker.stdin is not None
        assert self._forker.stdout is not None
        self._forker.stdin.write(json.dumps(job) + "\n")
        self._forker.stdin.flush()
        status = int(self._forker.stdout.readline())
        text = {name: path.read_text(encoding="utf-8") for name, path in files.items()}
        report = json.loads(text["report"] or '{"value": null, "error": null}')
        return Ran(status, text["stdout"], text["stderr"], **report)


@pytest.fixture(scope="session")
def forker() -> Iterator[subprocess.Popen[str]]:
    program = str(Path(__file__).parent / "forker.py")
    with subprocess.Popen(
        [sys.executable, "-I", "-S", program, str(ROOT)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    ) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()


@pytest.fixture
def python(forker: subprocess.Popen[str], tmp_path: Path) -> Python:
    return Python(forker, tmp_path)
