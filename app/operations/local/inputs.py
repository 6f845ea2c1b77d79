"""Input of a process: queued bytes, written as the process reads them."""

from __future__ import annotations

import asyncio
import os

from app.operations.process_errors import input_closed

_WRITE = 1 << 16
_END_OF_TRANSMISSION = b"\x04"


class InputPipe:
    """Input pipe. Owns the descriptor; must be used on the loop's thread.

    Args:
        descriptor: negative for a process without input.
        data: initial input.
        interactive: keep the pipe open for `write`; otherwise close it after `data`.
        terminal: the descriptor belongs to a terminal: its input is ended with a control character,
            because closing it would hang up the terminal.
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
        """Append `data` to the input; return once the process has read all of it.

        If the caller is cancelled, unread data is withdrawn.

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
        """End the input after queued data; may be called repeatedly."""
        async with self._alone:
            await self._taken.wait()
            if not self._interactive or self._descriptor < 0:
                return
            if self._terminal:
                # in the middle of a line the first one only submits the line
                await self._give(_END_OF_TRANSMISSION * (1 if self._line_start else 2))
            self._interactive = False
            self._feed()

    def close(self) -> None:
        """Drop queued data; may be called repeatedly."""
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
        """Write as much as fits; then wait for room, keep the pipe open, or close it."""
        if self._descriptor < 0:
            return
        try:
            while self._left:
                self._left = self._left[os.write(self._descriptor, self._left[:_WRITE]) :]
        except BlockingIOError:
            self._wait_for_room()
            return
        except OSError:  # the process does not read its input
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
