"""`tollgate` as a program of its own, on pipes or on a terminal."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.support import forked
from tests.support.source import ROOT

COMMAND = [sys.executable, "-m", "app.cli"]
PATIENCE_S = 60
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def environment(data_dir: Path, **extra: str) -> dict[str, str]:
    """The variables of a program that must not depend on those of the tests."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("TOLLGATE_", "ANTHROPIC_", "COLUMNS", "LINES"))
    }
    paths = {"PYTHONPATH": str(ROOT), "TOLLGATE_DATA_DIR": str(data_dir)}
    return {**kept, **paths, "TERM": "xterm-256color", **extra}


def tollgate(
    data_dir: Path, *words: str, stdin: str | None = None, **extra: str
) -> subprocess.CompletedProcess[str]:
    """Run it to its end, away from any terminal and any configuration file."""
    variables = environment(data_dir, **extra)
    return forked.run(words, cwd=data_dir, environment=variables, stdin=stdin or "")


def json_lines(text: str) -> list[dict[str, Any]]:
    """Every line as JSON."""
    return [json.loads(line) for line in text.splitlines()]


class Terminal:
    """A program on a pseudo-terminal."""

    def __init__(self, process: forked.Forked | subprocess.Popen[bytes], master: int) -> None:
        self.process = process
        self._master = master
        self._shown = ""
        self._read = 0

    @property
    def shown(self) -> str:
        """Everything it has shown, without colours."""
        return _CONTROL.sub("", self._shown).replace("\r", "")

    def type(self, text: str) -> None:
        """Press keys; a line ends with a line feed."""
        os.write(self._master, text.encode())

    async def expect(self, text: str) -> None:
        """Wait until `text` is shown, after what was expected before."""
        async with asyncio.timeout(PATIENCE_S):
            while text not in self.shown[self._read :]:
                await self._more(text)
        self._read = self.shown.index(text, self._read) + len(text)

    async def ended(self) -> int:
        """Wait for the end; the exit code."""
        async with asyncio.timeout(PATIENCE_S):
            while await self._more(""):
                pass
            return await asyncio.to_thread(self.process.wait)

    async def _more(self, wanted: str) -> bool:
        try:
            data = await asyncio.to_thread(os.read, self._master, 65536)
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            data = b""
        self._shown += data.decode("utf-8", "replace")
        if not data and wanted:
            raise AssertionError(f"ended without showing {wanted!r}:\n{self.shown}")
        return bool(data)


@asynccontextmanager
async def on_terminal(data_dir: Path, words: Sequence[str]) -> AsyncIterator[Terminal]:
    """Run `tollgate` on a terminal of its own; it is ended with the block."""
    master, slave = pty.openpty()
    process = forked.start(words, cwd=data_dir, environment=environment(data_dir), terminal=slave)
    os.close(slave)
    try:
        yield Terminal(process, master)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            await asyncio.to_thread(process.wait)
        os.close(master)


def announced(lines: Iterable[str]) -> dict[str, str]:
    """What a service says of itself when it starts, by its first word; read up to the last line."""
    facts: dict[str, str] = {}
    for line in lines:
        name, _, value = line.strip().partition(" ")
        facts[name] = value.strip()
        if name == "Press":
            break
    return facts
