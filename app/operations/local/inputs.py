"""The input of a process: bytes it is given, as it takes them."""

from __future__ import annotations

import asyncio
import os

from app.operations.process_errors import input_closed

_WRITE = 1 << 16
_END_OF_TRANSMISSION = b"\x04"


class InputPipe:
    """Takes ownership of the descriptor; must be used on the loop's thread.

    Args:
        descriptor: negative for a process without input.
        data: what the process is given first.
        interactive: keep the pipe open for `write`; otherwise it closes after `data`.
        terminal: the descriptor is a terminal's: its input is ended with a control
            character, because closing it would hang the terminal up.
    """

    def __init__(
        self, descriptor: int, data: bytes, *, interactive: bool = False, terminal: bool = False
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._descriptor = descriptor
        self._left = memoryview(data)
        self._interactive = interactive
        self._terminal = terminal
        self._line_start = not data or data.endswith(b"\n")
        self._waits_for_room = False
        self._taken = asyncio.Event()
        self._alone = asyncio.Lock()
        if descriptor < 0:
            self._taken.set()
        else:
            os.set_blocking(descriptor, False)
            self._feed()

    async def write(self, data: bytes) -> None:
        """Give it `data` after what it was given before; returns when all of it was taken.

        A caller that is cancelled takes back what was not taken yet.

        Raises:
            ToolFailed: code `input_closed`.
        """
        if not self._interactive:
            raise input_closed()
        async with self._alone:
            await self._taken.wait()
            if not self._interactive or self._descriptor < 0:
                raise input_closed()
            await self._give(data)
            self._line_start = data.endswith(b"\n") if data else self._line_start

    async def end(self) -> None:
        """End its input after what it was given; harmless when repeated."""
        async with self._alone:
            await self._taken.wait()
            if not self._interactive or self._descriptor < 0:
                return
            if self._terminal:
                # in the middle of a line the first one only hands the line over
                await self._give(_END_OF_TRANSMISSION * (1 if self._line_start else 2))
            self._interactive = False
            self._feed()

    def close(self) -> None:
        """Drop what was not taken; harmless when repeated."""
        if self._descriptor >= 0:
            self._stop_waiting()
            os.close(self._descriptor)
            self._descriptor = -1
        self._taken.set()

    async def _give(self, data: bytes) -> None:
        self._left = memoryview(data)
        self._taken.clear()
        self._feed()
        try:
            await self._taken.wait()
        except asyncio.CancelledError:
            self._left = memoryview(b"")
            self._feed()
            raise
        if self._descriptor < 0:
            raise input_closed()

    def _feed(self) -> None:
        """Write what the pipe has room for; wait for room, keep it open, or close it."""
        if self._descriptor < 0:
            return
        try:
            while self._left:
                self._left = self._left[os.write(self._descriptor, self._left[:_WRITE]) :]
        except BlockingIOError:
            self._wait_for_room()
            return
        except OSError:  # it does not read its input
            self.close()
            return
        self._stop_waiting()
        if self._interactive or self._terminal:
            self._taken.set()
        else:
            self.close()

    def _wait_for_room(self) -> None:
        if not self._waits_for_room:
            self._waits_for_room = True
            self._loop.add_writer(self._descriptor, self._feed)

    def _stop_waiting(self) -> None:
        if self._waits_for_room:
            self._waits_for_room = False
            self._loop.remove_writer(self._descriptor)
