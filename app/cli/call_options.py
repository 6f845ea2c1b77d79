"""Options, view and exit code of `tollgate call`, shared by both ways to run it."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from app.cli.call_view import EventLines, LiveText, PrintedResult, View
from app.cli.descriptor_writer import DescriptorWriter
from app.cli.terminal import is_terminal

FAILED = 1
NOT_APPROVED = 3
_EXIT_BY_STATUS = {
    "success": 0,
    "skipped": 0,
    "denied": NOT_APPROVED,
    "declined": NOT_APPROVED,
    "disabled": NOT_APPROVED,
    "expired": NOT_APPROVED,
}
READER_GONE = 128 + signal.SIGPIPE


@dataclass(frozen=True, slots=True)
class CallOptions:
    """Options of one call from the command line.

    Attributes:
        json_text: Arguments as JSON; None when they came as `key=value` words.
        yes: Approve every confirmation; denied calls stay denied.
        events: Print each event as a JSON line instead of the result.
    """

    tool: str
    pairs: tuple[str, ...] = ()
    json_text: str | None = None
    yes: bool = False
    events: bool = False


class StopRequest:
    """Stop request with its exit code.

    Attributes:
        asked: Future of the exit code; done once a stop is requested.
    """

    def __init__(self) -> None:
        self.asked: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    def request(self, exit_code: int) -> None:
        """Request a stop; the first exit code wins."""
        if not self.asked.done():
            self.asked.set_result(exit_code)

    @contextmanager
    def on_signals(self) -> Iterator[None]:
        """Stop cleanly on the first Ctrl-C and kill the process on the second."""
        loop = asyncio.get_running_loop()
        taken = [
            number
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
            if signal.getsignal(number) is not signal.SIG_IGN
        ]

        def stop(number: int) -> None:
            self.request(128 + number)
            loop.remove_signal_handler(number)

        for number in taken:
            loop.add_signal_handler(number, stop, number)
        try:
            yield
        finally:
            for number in taken:
                with suppress(ValueError):
                    loop.remove_signal_handler(number)


def view_of(
    options: CallOptions, out: DescriptorWriter, err: DescriptorWriter, *, ends_here: bool = True
) -> View:
    """Return the view that shows the call."""
    if options.events:
        return EventLines(out)
    safe_out, safe_err = is_terminal(sys.stdout), is_terminal(sys.stderr)
    return LiveText(out, err, safe_out=safe_out, safe_err=safe_err, ends_here=ends_here)


def exit_code_of(ending: PrintedResult, stop: StopRequest) -> int:
    """Return the exit code of a call."""
    if ending.status == "cancelled" and stop.asked.done():
        return stop.asked.result()
    return _EXIT_BY_STATUS.get(ending.status, FAILED)
