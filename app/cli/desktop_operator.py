"""`tollgate desktop-operator`: runs the desktop tasks of a service, one at a time.

It asks for permission immediately before it sends a text. Results that it cannot report are
reported after a reconnect; a text is never sent twice.
"""

from __future__ import annotations

import asyncio
import os
import random
from dataclasses import dataclass

import typer
from pydantic import ValidationError
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidURI

from app.channels.operator_messages import TaskForOperator
from app.cli.desktop_link import Frame, Link, checked_address, connect
from app.cli.service_errors import CommandRefused
from app.core.errors import InvalidInput
from app.core.escaping import visible
from app.operations.desktop.programs import X11Programs
from app.operations.desktop.protocol import (
    Begin,
    DesktopDriver,
    DriverFailed,
    Report,
    Sent,
    TextJob,
)
from app.operations.desktop.x11 import X11Driver, X11Options

FIRST_DELAY_S, LONGEST_DELAY_S = 0.5, 30.0
LOOK_AGAIN_S = 20.0
FAILED = 1
_APPS = [{"app_id": "weixin", "actions": ["send-text"]}]
_STOPS = range(4500, 5000)
_COMES_AGAIN = ("conflict", "rate_limited", "busy", "storage_unavailable", "internal")
_NO_LEAVE = "No permission to send was received"


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorOptions:
    """Options of the operator from the command line.

    Attributes:
        token_env: Environment variable that holds the token.
        once: Exit after one task.
    """

    url: str
    token_env: str
    name: str
    driver: str
    dry_run: bool
    once: bool
    insecure: bool
    x11: X11Options


class PrintDriver:
    """`DesktopDriver` that only prints what it would send."""

    async def check(self) -> None:
        """See `DesktopDriver`."""

    async def send_text(self, job: TextJob, *, begin: Begin, report: Report) -> Sent:
        """See `DesktopDriver`."""
        await report("printing")
        await begin()
        typer.echo(f"to {visible(job.target)}: {visible(job.text)}")
        return Sent(verified=False, detail="printed, not sent")


class DryDriver:
    """`DesktopDriver` that prints each task and refuses to send it."""

    async def check(self) -> None:
        """See `DesktopDriver`."""

    async def send_text(self, job: TextJob, *, begin: Begin, report: Report) -> Sent:
        """See `DesktopDriver`."""
        typer.echo(f"dry run, to {visible(job.target)}: {visible(job.text)}")
        raise DriverFailed("Dry run: nothing was sent")


class DesktopOperator:
    """Serves one service until it is stopped, across reconnects."""

    def __init__(self, options: OperatorOptions, token: str, driver: DesktopDriver) -> None:
        self._options = options
        self._token = token
        self._driver = driver
        # Final results of tasks, until the server has accepted them.
        self._unsaid: tuple[str, Frame] | None = None
        self._done = 0

    async def run(self) -> int:
        """Connect, and reconnect after each loss; return the exit code.

        Raises:
            DriverFailed: The driver cannot work on this machine.
        """
        await self._driver.check()
        attempt = 0
        while True:
            try:
                async with connect(self._options.url, self._token) as socket:
                    link = Link(socket)
                    await link.greet({"operator": self._options.name, "apps": _APPS})
                    _say(f"connected to {self._options.url}")
                    attempt = 0
                    if await self._serve(link):
                        return 0
            except ConnectionClosed as error:
                code = error.rcvd.code if error.rcvd else 1006
                reason = error.rcvd.reason if error.rcvd else "connection lost"
                if code in _STOPS:
                    _say(f"the server refused this operator: {reason} ({code})")
                    return FAILED
            except InvalidURI as error:
                raise InvalidInput(str(error), field="url") from None
            except CommandRefused as error:
                reason = error.message
                if error.error.get("code") not in _COMES_AGAIN:
                    _say(f"the server refused this operator: {reason}")
                    return FAILED
            except (OSError, TimeoutError, InvalidHandshake) as error:
                reason = str(error) or "no answer"
            except (ValueError, KeyError, TypeError) as error:
                _say(f"not a Tollgate server ({error!r})")
                return FAILED
            delay = random.uniform(0.5, 1) * min(LONGEST_DELAY_S, FIRST_DELAY_S * 2**attempt)  # noqa: S311 - spreads operators
            attempt = min(attempt + 1, 10)
            _say(f"connection lost: {reason}; retrying in {delay:.1f} s")
            await asyncio.sleep(delay)

    async def _serve(self, link: Link) -> bool:
        """Run tasks until the connection ends; return True when the operator is done."""
        work = asyncio.create_task(self._work(link))
        parts = [work, asyncio.create_task(link.read()), asyncio.create_task(link.beat())]
        try:
            done, _ = await asyncio.wait(parts, return_when=asyncio.FIRST_COMPLETED)
            return bool(next(iter(done)).result())
        finally:
            for part in parts:
                part.cancel()
            await asyncio.gather(*parts, return_exceptions=True)

    async def _work(self, link: Link) -> bool:
        while True:
            await self._say_it(link)
            if self._options.once and self._done:
                return True
            link.news.clear()
            claimed = (await link.command("claim"))["task"]
            if claimed is None:
                try:
                    async with asyncio.timeout(LOOK_AGAIN_S):
                        await link.news.wait()
                except TimeoutError:
                    continue
            else:
                await self._do(link, _task(claimed))

    async def _do(self, link: Link, task: TaskForOperator) -> None:
        """Send one text, and keep its result until it is reported."""
        claim: Frame = {"task_id": task.task_id, "claim_id": task.claim_id}
        keeping = asyncio.create_task(self._keep(link, claim, task.lease_s))
        keeping.add_done_callback(_heard)
        has_begun = False

        async def begin() -> None:
            nonlocal has_begun
            # If the reply is lost, this is the result: without permission nothing is sent.
            self._unsaid = ("fail", {**claim, "code": "driver_failed", "detail": _NO_LEAVE})
            await link.command("start", **claim)
            has_begun = True
            self._unsaid = ("fail", {**claim, "code": "outcome_unknown"})

        async def report(stage: str) -> None:
            await link.command("progress", **claim, stage=stage)

        job = TextJob(task.target, task.text)
        sending = asyncio.create_task(self._driver.send_text(job, begin=begin, report=report))
        try:
            await asyncio.wait([sending])
        finally:
            keeping.cancel()
            if not sending.done():
                # The connection is lost: a started text is still finished.
                if not has_begun:
                    sending.cancel()
                await asyncio.wait([sending])
            self._settle(claim, sending)

    def _settle(self, claim: Frame, sending: asyncio.Task[Sent]) -> None:
        """Store the final result of a task."""
        self._done += 1
        if sending.cancelled():
            return
        error = sending.exception()
        if error is None:
            sent = sending.result()
            said = {"verified": sent.verified, "detail": sent.detail[:500]}
            self._unsaid = ("complete", claim | said)
            _say(f"{claim['task_id']}: sent")
        elif isinstance(error, DriverFailed):
            said = {"code": error.details["reason"], "detail": error.message[:500]}
            self._unsaid = ("fail", claim | said)
            _say(f"{claim['task_id']}: {error.message}")
        elif isinstance(error, CommandRefused):
            # No permission: the task was withdrawn, so there is nothing to report.
            self._unsaid = None
            _say(f"{claim['task_id']}: not sent: {error.message}")
        elif not isinstance(error, ConnectionClosed | TimeoutError):
            raise error

    async def _keep(self, link: Link, claim: Frame, lease_s: float) -> None:
        while True:
            await asyncio.sleep(lease_s / 3)
            await link.command("heartbeat", claim=claim)

    async def _say_it(self, link: Link) -> None:
        """Report stored results; drop those that the server refuses permanently.

        Raises:
            CommandRefused: The server cannot accept the result now; it is sent again later.
        """
        if self._unsaid is None:
            return
        kind, fields = self._unsaid
        try:
            await link.command(kind, **fields)
        except CommandRefused as error:
            if error.error.get("retryable") or error.error.get("code") == "internal":
                raise
            _say(f"{fields['task_id']}: not accepted: {error.message}")
        self._unsaid = None


async def operate(options: OperatorOptions) -> int:
    """Run an operator and return its exit code.

    Raises:
        InvalidInput: The address or driver is invalid, or the token is missing.
        DriverFailed: The driver cannot work on this machine.
    """
    url = checked_address(options.url, insecure=options.insecure)
    token = os.environ.get(options.token_env, "")
    if not token:
        raise InvalidInput(
            f"{options.token_env} holds no token: create one with `tollgate token "
            "create NAME --scope desktop`",
            field="token_env",
        )
    # Programs started here must not find it.
    del os.environ[options.token_env]
    operator = DesktopOperator(options, token, _driver(options))
    _say(f"operator {options.name!r} with the driver {options.driver!r} for {url}")
    return await operator.run()


def _driver(options: OperatorOptions) -> DesktopDriver:
    if options.dry_run:
        return DryDriver()
    if options.driver == "print":
        return PrintDriver()
    if options.driver == "x11":
        return X11Driver(X11Programs(os.environ), options.x11)
    raise InvalidInput(f"Invalid --driver {options.driver!r}: must be x11 or print", field="driver")


def _heard(work: asyncio.Task[None]) -> None:
    """Ignore any error: it also ends the connection, which reports it."""
    if not work.cancelled():
        work.exception()


def _task(claimed: Frame) -> TaskForOperator:
    try:
        return TaskForOperator.model_validate(claimed)
    except ValidationError as error:
        raise ValueError(f"a task cannot be read: {error.error_count()} problems") from None


def _say(text: str) -> None:
    typer.echo(visible(text), err=True)
