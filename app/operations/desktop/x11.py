"""Text input to a chat application on an X11 desktop.

The window is found by its exact title, and checked again before every key, because keys go to the
focused window. Text is passed through the clipboard, which is restored afterwards.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from app.core.text_checks import text_problem
from app.operations.desktop.programs import X11Programs
from app.operations.desktop.protocol import (
    Begin,
    DeliveryUnknown,
    DriverFailed,
    Report,
    Sent,
    TextJob,
)

_COPIES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class X11Options:
    """Control options of the chat application.

    Attributes:
        title: exact title of its window.
        detached: every group has a separate window titled with its name, so no search is needed.
        search_key: key that opens the search for groups.
        read_back: select and copy the text before sending; it must be equal.
        paste: paste text from the clipboard; otherwise type it, which supports only ASCII.
        pause_s: pause in seconds after each step.
    """

    title: str = "微信"
    detached: bool = False
    search_key: str = "ctrl+f"
    read_back: bool = True
    paste: bool = True
    pause_s: float = 0.3


class X11Driver:
    """`DesktopDriver` with `xdotool` and `xclip`."""

    def __init__(self, programs: X11Programs, options: X11Options) -> None:
        self._programs = programs
        self._options = options

    async def check(self) -> None:
        """See the protocol."""
        self._programs.check()

    async def send_text(self, job: TextJob, *, begin: Begin, report: Report) -> Sent:
        """See the protocol."""
        for field, text in (("text", job.text), ("target", job.target)):
            problem = text_problem(text)
            if field == "target" and "\n" in text:
                problem = "it has several lines"
            if not self._options.paste and not (text.isascii() and text.isprintable()):
                problem = "only one line of ASCII can be typed; allow pasting"
            if problem is not None:
                raise DriverFailed(
                    f"Cannot type the {field}: {problem}", reason="text_not_sendable"
                )
        await report("finding the window")
        window = await self._find(job.target if self._options.detached else self._options.title)
        await self._activate(window)
        async with self._clipboard_kept():
            if not self._options.detached:
                await report("searching for the group")
                await self._open_group(window, job.target)
            await report("pasting the text")
            await self._replace(window, job.text)
            has_leave = False
            try:
                if self._options.read_back:
                    await self._read_back(window, job.text)
                await self._focused(window)
                await begin()
                has_leave = True
            finally:
                if not has_leave:
                    await asyncio.shield(self._empty(window))
            await self._send(window)
        return Sent(self._options.read_back)

    # -- windows --------------------------------------------------------------------------

    async def _find(self, title: str) -> str:
        """Return the ID of the only visible window with the title.

        Raises:
            DriverFailed: there is none, or more than one.
        """
        # Lists every named window: patterns of `xdotool` do not support UTF-8 names.
        found = await self._programs.xdotool("search", "--onlyvisible", "--name", ".")
        ids = [line for line in found.stdout.decode().split() if line.isdecimal()]
        exact = [id_ for id_ in ids if await self._title(id_) == title]
        if len(exact) == 1:
            return exact[0]
        if exact:
            raise DriverFailed(
                f"{len(exact)} windows have the title {title!r}", reason="window_ambiguous"
            )
        raise DriverFailed(f"No window has the title {title!r}", reason="window_not_found")

    async def _title(self, window: str) -> str:
        ended = await self._programs.xdotool("getwindowname", window)
        return ended.stdout.decode("utf-8", "replace").removesuffix("\n")

    async def _activate(self, window: str) -> None:
        ended = await self._programs.xdotool("windowactivate", "--sync", window)
        if ended.status != 0 or "not supported" in ended.stderr or "_NET_" in ended.stderr:
            # No window manager, or one that does not allow activation.
            await self._programs.xdotool("windowfocus", "--sync", window)
        await self._pause()
        await self._focused(window)

    async def _focused(self, window: str) -> None:
        """Check that keys go to the window. Raises DriverFailed."""
        ended = await self._programs.xdotool("getwindowfocus")
        if ended.stdout.decode().strip() != window:
            raise DriverFailed("Another window has the focus", reason="focus_lost")

    # -- keys and text --------------------------------------------------------------------

    async def _open_group(self, window: str, target: str) -> None:
        await self._key(window, self._options.search_key)
        await self._replace(window, target)
        await self._key(window, "Return")

    async def _replace(self, window: str, text: str) -> None:
        """Replace the content of the input field."""
        await self._key(window, "ctrl+a")
        if self._options.paste:
            await self._programs.set_clipboard(text.encode())
            await self._key(window, "ctrl+v")
            return
        await self._key(window, "BackSpace")
        await self._focused(window)
        typed = ("type", "--clearmodifiers", "--file", "-")
        ended = await self._programs.xdotool(*typed, stdin=text.encode())
        if ended.status != 0:
            raise DriverFailed(f"xdotool: {ended.stderr[:200]}")
        await self._pause()

    async def _read_back(self, window: str, text: str) -> None:
        """Verify the content of the field by copying it.

        Raises:
            DriverFailed: it differs from the text.
        """
        # The clipboard gets a placeholder, so that any copied text is recognized.
        nonce = secrets.token_hex(16).encode()
        await self._programs.set_clipboard(nonce)
        await self._key(window, "ctrl+a")
        await self._key(window, "ctrl+c")
        for _ in range(_COPIES):
            copied = await self._programs.clipboard()
            if copied is not None and copied != nonce:
                break
            await self._pause()
        else:
            raise DriverFailed("Cannot copy the text of the window", reason="text_differs")
        read = copied.decode("utf-8", "replace").replace("\r\n", "\n")
        # Text fields may add a line break to copied text.
        if read != text and read.removesuffix("\n") != text:
            raise DriverFailed("The window contains a different text", reason="text_differs")
        await self._key(window, "ctrl+End")

    async def _send(self, window: str) -> None:
        """Press Return once.

        Raises:
            DeliveryUnknown: it is unknown whether it was pressed.
        """
        try:
            ended = await self._programs.xdotool("key", "--clearmodifiers", "Return")
        except DriverFailed as error:
            raise DeliveryUnknown(error.message) from None
        if ended.status != 0:
            raise DeliveryUnknown(f"xdotool: {ended.stderr[:200]}")
        await self._pause()

    async def _empty(self, window: str) -> None:
        """Clear the field, so that no text can be sent by accident."""
        try:
            await self._key(window, "ctrl+a")
            await self._key(window, "BackSpace")
        except DriverFailed:
            return  # the window is gone or lost the focus; keys would go elsewhere

    async def _key(self, window: str, key: str) -> None:
        await self._focused(window)
        ended = await self._programs.xdotool("key", "--clearmodifiers", key)
        if ended.status != 0:
            raise DriverFailed(f"xdotool: {ended.stderr[:200]}")
        await self._pause()

    @asynccontextmanager
    async def _clipboard_kept(self) -> AsyncIterator[None]:
        """Restore the clipboard at the end; content other than text is lost, and the clipboard
        cleared.
        """
        before = await self._programs.clipboard()
        try:
            yield
        finally:
            await asyncio.shield(self._programs.set_clipboard(before or b""))

    async def _pause(self) -> None:
        await asyncio.sleep(self._options.pause_s)
