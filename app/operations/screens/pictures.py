"""Screenshot requests and results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from app.operations.protocols.operations import Operations
from app.operations.protocols.sandbox import SandboxReport


@dataclass(frozen=True, slots=True)
class PageRequest:
    """Page and its display options; sizes in CSS pixels, times in seconds."""

    url: str
    width: int
    height: int
    full_page: bool
    wait_s: float
    timeout_s: float


@dataclass(frozen=True, slots=True)
class Picture:
    """PNG and its source."""

    data: bytes
    width: int
    height: int
    url: str = ""
    title: str = ""
    refused: tuple[str, ...] = ()
    sandbox: SandboxReport | None = None


@runtime_checkable
class ScreenCapture(Protocol):
    """Takes screenshots of web pages and of the desktop."""

    async def page(self, operations: Operations, request: PageRequest) -> Picture:
        """Capture a web page.

        Raises:
            ToolFailed: `not_available`, `invalid_url`, `address_refused`, `page_failed`,
                `timeout`, `browser_failed`, `sandbox_unavailable`.
        """

    async def desktop(self, monitor: int) -> Picture:
        """Capture one monitor, from 1; 0 is all of them.

        Raises:
            ToolFailed: `not_available`, `no_such_monitor`, `desktop_failed`, `timeout`.
        """
