"""Access to an X11 display: `xdotool` for windows and keys, `xclip` for the clipboard.

Programs are started with argument lists, never through a shell. User text goes to their standard
input, never into the arguments.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass

from app.operations.desktop.protocol import DriverFailed
from app.operations.local.environment import SAFE_PATH

_TIMEOUT_S = 10.0
_LOOK_S = 0.01
_PASSED_ON = ("DISPLAY", "XAUTHORITY", "HOME")
_MAX_CLIPBOARD = 1 << 20
PROGRAMS = ("xdotool", "xclip")


@dataclass(frozen=True, slots=True)
class ProgramExit:
    """Exit of a program."""

    status: int
    stdout: bytes
    stderr: str


class X11Programs:
    """The programs, for the display named in `environment`."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        kept = {name: environment[name] for name in _PASSED_ON if name in environment}
        # Without UTF-8, xdotool splits names and texts into bytes.
        self._environment = {"PATH": SAFE_PATH, "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", **kept}

    def check(self) -> None:
        """Check the requirements. Raises DriverFailed without a display, or if a program is
        missing.
        """
        if not self._environment.get("DISPLAY"):
            raise DriverFailed("No X11 display is available: DISPLAY is not set")
        missing = [name for name in PROGRAMS if shutil.which(name, path=SAFE_PATH) is None]
        if missing:
            raise DriverFailed(f"Install {' and '.join(missing)}")

    async def xdotool(self, *words: str, stdin: bytes = b"") -> ProgramExit:
        """Run `xdotool`.

        Raises:
            DriverFailed: it cannot be started, or does not end.
        """
        return await self._run("xdotool", *words, stdin=stdin)

    async def clipboard(self) -> bytes | None:
        """Return the clipboard as text in UTF-8; None without text, or above one megabyte."""
        held = await self._selection()
        return held if held is not None and len(held) <= _MAX_CLIPBOARD else None

    async def set_clipboard(self, data: bytes) -> None:
        """Put text on the clipboard; return once it is available.

        A process of `xclip` stays to serve it.

        Raises:
            DriverFailed: the clipboard was not set.
        """
        failed = DriverFailed("Cannot write to the clipboard", reason="clipboard_failed")
        ended = await self._run("xclip", "-selection", "clipboard", "-i", stdin=data, quiet=True)
        if ended.status != 0:
            raise failed
        # It exits before the remaining process has notified the display. Until then, pasting would
        # insert the previous content: the text of another message, or the name of another group.
        try:
            async with asyncio.timeout(_TIMEOUT_S):
                while True:
                    if await self._selection() == data:
                        return
                    await asyncio.sleep(_LOOK_S)
        except TimeoutError:
            raise failed from None

    async def _selection(self) -> bytes | None:
        ended = await self._run("xclip", "-selection", "clipboard", "-o", "-t", "UTF8_STRING")
        return ended.stdout if ended.status == 0 else None

    async def _run(self, *command: str, stdin: bytes = b"", quiet: bool = False) -> ProgramExit:
        # The remaining process would hold a pipe open, and its reader waits for the end.
        target = asyncio.subprocess.DEVNULL if quiet else asyncio.subprocess.PIPE
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.PIPE,
                stdout=target,
                stderr=target,
                env=self._environment,
                cwd=os.sep,
                start_new_session=True,
            )
        except OSError as error:
            raise DriverFailed(f"Cannot start {command[0]}: {error.strerror}") from None
        try:
            async with asyncio.timeout(_TIMEOUT_S):
                stdout, stderr = await process.communicate(stdin)
        except TimeoutError:
            raise DriverFailed(f"{command[0]} {command[1]} does not finish") from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        assert process.returncode is not None
        return ProgramExit(
            process.returncode, stdout or b"", (stderr or b"").decode("utf-8", "replace")
        )
