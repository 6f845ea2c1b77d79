"""Spare a service in a test what only costs time: nothing here changes what the service does."""

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
    """Have services start and stop in a few milliseconds.

    Not for tests of how the sandbox starts.
    """
    with pytest.MonkeyPatch.context() as patch:
        # The process that starts programs begins with the first one, as it does by itself.
        patch.setattr(Sandbox, "start", Sandbox.known)
        # It looks every 0.1 s whether it is to end, and whether everybody has left.
        patch.setattr(
            uvicorn.server, "asyncio", SimpleNamespace(**{**vars(asyncio), "sleep": _short_sleep})
        )
        yield


async def _short_sleep(delay: float) -> None:
    await asyncio.sleep(min(delay, _TICK_S))
