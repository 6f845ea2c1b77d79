"""Faster start and stop of services in tests, without changing their behavior."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import pytest
import uvicorn.server

from app.operations.sandbox.sandbox import Sandbox

_TICK_S = 0.01


@contextmanager
def brisk_services() -> Iterator[None]:
    """Make services start and stop in a few milliseconds.

    Not for tests of how the sandbox starts.
    """
    with pytest.MonkeyPatch.context() as patch:
        # The process that starts programs is started with the first one, as by default.
        patch.setattr(Sandbox, "start", Sandbox.known)
        # It checks every 0.1 s whether to end, and whether all clients have left.
        patch.setattr(
            uvicorn.server, "asyncio", SimpleNamespace(**{**vars(asyncio), "sleep": _short_sleep})
        )
        yield


async def _short_sleep(delay: float) -> None:
    await asyncio.sleep(min(delay, _TICK_S))
