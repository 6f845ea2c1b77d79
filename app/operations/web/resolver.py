"""Resolvers of host names."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

_RESOLVING = 8


class AddressResolver(Protocol):
    """Resolver of names to addresses."""

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        """Return all addresses of `host`, best first.

        Raises:
            OSError: there is none.
        """

    def close(self) -> None:
        """Stop resolving."""


class SystemResolver:
    """This machine's resolver, in separate threads because it may hang.

    Args:
        threads: how many names are resolved at once.
    """

    def __init__(self, threads: int = _RESOLVING) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="resolve")

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        loop = asyncio.get_running_loop()
        found = await loop.run_in_executor(self._threads, _look_up, host, port)
        return list(dict.fromkeys(found))

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


def _look_up(host: str, port: int) -> list[str]:
    return [str(entry[4][0]) for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
