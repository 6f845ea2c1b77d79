"""Screenshots of the desktop of the service's machine.

The X server is accessed with the service's own rights: no sandbox could restrict a program that may
read the whole screen. Only our own code runs, and it reads nothing of a workspace.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping
from importlib.util import find_spec

from app.core.errors import ToolFailed
from app.operations.local.environment import SAFE_PATH
from app.operations.screens.grab_codes import NO_SUCH_MONITOR
from app.operations.screens.pictures import Picture

_TIMEOUT_S = 20.0
_PASSED_ON = ("DISPLAY", "XAUTHORITY", "HOME")


def no_desktop(environment: Mapping[str, str]) -> str | None:
    """Return why there is no desktop to capture, or None."""
    if not environment.get("DISPLAY"):
        return "no X11 display is available: DISPLAY is not set"
    if find_spec("mss") is None:
        return "the package mss is not installed: pip install mss"
    return None


class Desktop:
    """Screens of the display named in `environment`."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        kept = {name: environment[name] for name in _PASSED_ON if name in environment}
        self._environment = {"PATH": SAFE_PATH, "LANG": "C.UTF-8", **kept}

    async def picture(self, monitor: int) -> Picture:
        """Capture one monitor, from 1; 0 is all of them.

        Raises:
            ToolFailed: `no_such_monitor`, `desktop_failed`, `timeout`.
        """
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-m", "app.operations.screens.grab", str(monitor)),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=self._environment,
            cwd=os.sep,
            start_new_session=True,
        )
        try:
            async with asyncio.timeout(_TIMEOUT_S):
                stdout, stderr = await process.communicate()
        except TimeoutError:
            raise ToolFailed("The display does not respond", code="timeout") from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        return _picture(process.returncode, stdout, stderr, monitor)


def _picture(code: int | None, stdout: bytes, stderr: bytes, monitor: int) -> Picture:
    if code == NO_SUCH_MONITOR:
        raise ToolFailed(f"Monitor {monitor} does not exist", code="no_such_monitor")
    head, _, png = stdout.partition(b"\n")
    size = head.split()
    if code != 0 or len(size) != 2:
        said = stderr.decode("utf-8", "replace").strip().splitlines()
        raise ToolFailed(
            "Cannot take a screenshot of the desktop: "
            f"{said[-1][:300] if said else f'status {code}'}",
            code="desktop_failed",
        )
    return Picture(png, int(size[0]), int(size[1]))
