"""A virtual display, and chat windows on it."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from scripts.parts import X_DISPLAY
from tests.support.binaries import require_binary, require_part

PATIENCE_S = 60
PROGRAM = Path(__file__).with_name("chat_window.py")
TITLE = "微信"


@contextmanager
def virtual_display() -> Iterator[dict[str, str]]:
    """The environment of programs on a display of their own."""
    require_part(X_DISPLAY)
    program = require_binary("Xvfb")
    read, write = os.pipe()
    server = subprocess.Popen(
        [program, "-displayfd", str(write), "-screen", "0", "800x600x24", "-nolisten", "tcp"],
        pass_fds=(write,),
        stderr=subprocess.DEVNULL,
    )
    os.close(write)
    try:
        with os.fdopen(read) as reported:
            yield {"DISPLAY": f":{reported.readline().strip()}", "HOME": "/nonexistent"}
    finally:
        server.terminate()
        server.wait()


class ChatWindow:
    """A window of another program."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.reported: list[dict[str, Any]] = []

    async def next(self, kind: str) -> dict[str, Any]:
        """What it tells next of that kind."""
        assert self._process.stdout is not None
        async with asyncio.timeout(PATIENCE_S):
            while True:
                line = await self._process.stdout.readline()
                assert line, "the window is gone"
                facts: dict[str, Any] = json.loads(line)
                self.reported.append(facts)
                if kind in facts:
                    return facts


@asynccontextmanager
async def chat_window(
    environment: dict[str, str], title: str = TITLE, *words: str
) -> AsyncIterator[ChatWindow]:
    """A chat window that is on the display."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, str(PROGRAM), title, *words),
        env={**environment, "LANG": "C.UTF-8", "PATH": os.environ["PATH"]},
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        window = ChatWindow(process)
        await window.next("shown")
        yield window
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
