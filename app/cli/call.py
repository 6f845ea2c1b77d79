"""`tollgate call`: one governed call in this process, without a server."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import orjson

from app.agents.run import Run
from app.agents.runs import RunEngine
from app.agents.sessions import Sessions
from app.cli.arguments import parse_pairs
from app.cli.asking import NO, YES, confirmation_lines, option_of
from app.cli.call_view import EventLines, LiveText, View
from app.cli.questions import DECLINE, Form
from app.cli.terminal import can_ask, forget_typed, is_terminal, read_line
from app.cli.writer import Writer
from app.core.errors import TollgateError
from app.core.ids import call_id
from app.core.settings import Settings
from app.core.text import clean
from app.events.log import Frame
from app.execution.calls import CallRequest
from app.execution.confirmation.answers import Approver
from app.execution.confirmation.answers import Reply as Verdict
from app.execution.projects import DEFAULT_PROJECT
from app.execution.questions.replies import Reply
from app.execution.setup import Gate
from app.governance.identity.tokens import LOCAL_USER
from app.main import local_gate

_EXIT_BY_STATUS = {
    "success": 0,
    "skipped": 0,
    "denied": 3,
    "declined": 3,
    "disabled": 3,
    "expired": 3,
}
FAILED = 1
READER_GONE = 128 + signal.SIGPIPE
NOBODY_TO_TELL = "there is no terminal to ask on"
NOBODY_THERE = "there is no terminal to ask on; --yes approves what asks"


@dataclass(frozen=True, slots=True)
class CallOptions:
    """What the command line asked for.

    Attributes:
        json_text: the arguments as JSON; None when they came as `key=value` words.
        yes: approve whatever asks. What policy denies stays denied.
        events: print every event as a JSON line instead of the result.
    """

    tool: str
    pairs: tuple[str, ...] = ()
    json_text: str | None = None
    yes: bool = False
    events: bool = False


async def call_once(options: CallOptions, settings: Settings) -> int:
    """Run the call and show it; the exit code.

    Raises:
        InvalidInput: the words on the command line cannot be read as arguments.
        ConfigurationError, StorageUnavailable: there is no gate to call through.
    """
    async with local_gate(settings) as gate:
        return await call_through(gate, options)


async def call_through(gate: Gate, options: CallOptions) -> int:
    """`call_once` through a gate that is open already."""
    out, err = Writer(1), Writer(2)
    try:
        return await _LocalCall(gate, options, out, err).run()
    finally:
        await out.close()
        await err.close()


class _LocalCall:
    """One call from its session to its exit code. A `Subscriber` of the session's log."""

    def __init__(self, gate: Gate, options: CallOptions, out: Writer, err: Writer) -> None:
        self._gate = gate
        self._options = options
        self._err = err
        self._view: View = EventLines(out)
        if not options.events:
            self._view = LiveText(
                out, err, safe_out=is_terminal(sys.stdout), safe_err=is_terminal(sys.stderr)
            )
        self._stop: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._questions: dict[str, asyncio.Task[None]] = {}
        out.on_closed(lambda: self._request_stop(READER_GONE))

    async def run(self) -> int:
        request = self._request()
        sessions = Sessions(
            self._gate.ledger,
            self._gate.events,
            self._gate.clock,
            _nothing_stored,
            self._gate.redactor,
        )
        session = sessions.create(
            user_id=LOCAL_USER,
            kind="direct",
            title=f"call {request.name}"[:60],
            project_id=DEFAULT_PROJECT,
        )
        session.log.subscribers.add(self)
        runs = RunEngine(self._gate, sessions, None, None)
        with self._signals():
            run = await runs.call_tools(session, [request], caller="cli", cacheable=False)
            await self._until_done(runs, run)
            # Everything is shown only once it is committed.
            await self._gate.ledger.durable()
            return self._conclude(run, request)

    def deliver(self, session_id: str, frame: Frame) -> None:
        """Show a frame; answer what it asks."""
        self._view.show(frame)
        if not frame.seq:
            return
        event: dict[str, Any] = orjson.loads(frame.body)
        if event["type"] == "tool_confirmation_request":
            task = asyncio.create_task(self._settle(session_id, event))
            self._questions[event["confirmation_id"]] = task
        elif event["type"] == "question_asked":
            task = asyncio.create_task(self._tell(session_id, event))
            self._questions[event["question_id"]] = task
        elif event["type"] == "question_answered":
            told = self._questions.pop(event["question_id"], None)
            if told is not None:
                told.cancel()
        elif event["type"] == "tool_confirmation_resolved":
            question = self._questions.pop(event["confirmation_id"], None)
            if question is not None:
                question.cancel()

    def _request(self) -> CallRequest:
        options = self._options
        name = clean(options.tool)
        if options.json_text is not None:
            return CallRequest(call_id("call"), name, options.json_text)
        tool = self._gate.registry.get(name)
        if tool is None:
            return CallRequest(call_id("call"), name, parse_pairs(options.pairs, None))
        arguments = parse_pairs(options.pairs, tool.parameters, tool.argument_aliases)
        return CallRequest(call_id("call"), name, arguments)

    async def _until_done(self, runs: RunEngine, run: Run) -> None:
        ends: set[asyncio.Future[Any]] = {run.done, self._stop}
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        if not run.done.done():
            await runs.cancel(run.session.id, run.id)
            await run.done

    def _conclude(self, run: Run, request: CallRequest) -> int:
        outcome = run.finished.get(request.id)
        if outcome is None:
            self._say(f"error: the call did not finish ({run.done.result()})")
            return FAILED
        self._view.finish(outcome)
        if outcome.status == "cancelled" and self._stop.done():
            return self._stop.result()
        return _EXIT_BY_STATUS.get(outcome.status, FAILED)

    async def _settle(self, session_id: str, request: dict[str, Any]) -> None:
        """Answer one confirmation: by --yes, by a person, or with no."""
        approved, message = self._options.yes, None
        if not approved and can_ask():
            approved, message = await self._ask(request)
        elif not approved:
            message = NOBODY_THERE
            self._say("\n".join([*confirmation_lines(request), f"Declined: {message}"]))
        try:
            await self._gate.confirmations.answer(
                request["confirmation_id"],
                Verdict(
                    option_of(request, "allow" if approved else "deny"),
                    request["digest"],
                    message,
                ),
                Approver(LOCAL_USER, is_admin=True),
                session_id=session_id,
            )
        except TollgateError as error:
            self._say(f"The answer was not taken: {error.message}")

    async def _ask(self, request: dict[str, Any]) -> tuple[bool, str | None]:
        """Whether a person approves; what they say to a no is the reason of it."""
        self._say("\n".join(confirmation_lines(request)))
        forget_typed()
        self._say("Approve once? Type y to run it, n and why; anything else declines: ", end="")
        answer = await read_line()
        if answer is not None and answer.lower() in YES:
            return True, None
        word, _, why = (answer or "").partition(" ")
        return False, why.strip() or None if word.lower() in NO else None

    async def _tell(self, session_id: str, event: dict[str, Any]) -> None:
        """Bring a question to the person at the terminal; without one, nobody answers it."""
        form = Form(event)
        reply = Reply("declined")
        if can_ask():
            while not form.is_complete:
                self._say("\n".join(form.lines()))
                # Before it is told how to answer: who answers at once must not be unheard.
                forget_typed()
                self._say(form.prompt(), end="")
                line = await read_line()
                if line is None or line.strip() == DECLINE:
                    break
                form.take(line)
            else:
                reply = Reply("answered", form.answer)
        else:
            self._say("\n".join([*form.lines(), f"Not answered: {NOBODY_TO_TELL}"]))
        try:
            await self._gate.questions.answer(
                event["question_id"], reply, by=LOCAL_USER, session_id=session_id
            )
        except TollgateError as error:
            self._say(f"The answer was not taken: {error.message}")

    def _say(self, text: str, *, end: str = "\n") -> None:
        self._err.put((text + end).encode("utf-8", "replace"))

    def _request_stop(self, exit_code: int) -> None:
        if not self._stop.done():
            self._stop.set_result(exit_code)

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """The first Ctrl-C cancels the call in good order; a second one ends the process."""
        loop = asyncio.get_running_loop()
        taken = [
            number
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
            if signal.getsignal(number) is not signal.SIG_IGN
        ]

        def stop(number: int) -> None:
            self._request_stop(128 + number)
            loop.remove_signal_handler(number)

        for number in taken:
            loop.add_signal_handler(number, stop, number)
        try:
            yield
        finally:
            for number in taken:
                with suppress(ValueError):
                    loop.remove_signal_handler(number)


async def _nothing_stored(_: str) -> tuple[dict[str, Any], int] | None:
    """The session of a call is new; there is nothing to load."""
    return None
