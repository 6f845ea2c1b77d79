"""`tollgate call`: runs one governed call in this process, without a server."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson

from app.agents.restart_policy import CLOSING
from app.agents.run import Run
from app.agents.runs import RunService
from app.agents.sessions import Sessions
from app.bootstrap.agents import agent_parts, open_runs
from app.bootstrap.container import Runtime
from app.bootstrap.installation import local_runtime
from app.cli.arguments import parse_pairs
from app.cli.call_answerer import NOBODY_THERE, CallAnswerer, NoAnswer
from app.cli.call_options import (
    FAILED,
    NOT_APPROVED,
    READER_GONE,
    CallOptions,
    StopRequest,
    exit_code_of,
    view_of,
)
from app.cli.call_view import PrintedResult
from app.cli.descriptor_writer import DescriptorWriter
from app.config.settings import Settings
from app.core.errors import TollgateError
from app.core.ids import call_id
from app.core.text import clean
from app.events.log import Frame
from app.execution.calls import CallRequest
from app.execution.confirmation.answers import ConfirmationReply
from app.execution.interactions.replies import QuestionReply
from app.execution.projects import DEFAULT_PROJECT
from app.governance.approvals.approver import Approver
from app.governance.identity.tokens import LOCAL_USER


async def call_once(options: CallOptions, settings: Settings) -> int:
    """Run the call, show it and return the exit code.

    Raises:
        InvalidInput: The command line cannot be parsed as arguments.
        ConfigurationError, StorageUnavailable: The installation cannot be opened.
    """
    async with local_runtime(settings) as runtime:
        return await call_through(runtime, options)


async def call_through(runtime: Runtime, options: CallOptions) -> int:
    """Run `call_once` on a runtime that is already open."""
    out, err = DescriptorWriter(1), DescriptorWriter(2)
    try:
        return await _LocalCall(runtime, options, out, err).run()
    finally:
        await out.close()
        await err.close()


class _LocalCall:
    """Runs one call in a new session. Subscribes to the session's log."""

    def __init__(
        self, runtime: Runtime, options: CallOptions, out: DescriptorWriter, err: DescriptorWriter
    ) -> None:
        self._runtime = runtime
        self._options = options
        self._err = err
        self._view = view_of(options, out, err)
        self._answers = CallAnswerer(self._say, yes=options.yes)
        self._stop = StopRequest()
        self._questions: dict[str, asyncio.Task[None]] = {}
        out.on_closed(lambda: self._stop.request(READER_GONE))

    async def run(self) -> int:
        request = self._request()
        sessions = Sessions(
            self._runtime.db,
            self._runtime.events,
            self._runtime.clock,
            _nothing_stored,
            self._runtime.redactor,
        )
        session = sessions.create(
            user_id=LOCAL_USER,
            kind="direct",
            title=f"call {request.name}"[:60],
            project_id=DEFAULT_PROJECT,
        )
        session.log.subscribers.add(self)
        runs = open_runs(self._runtime, agent_parts(self._runtime, CLOSING), sessions, None, None)
        with self._stop.on_signals():
            run = await runs.call_tools(
                *(session, [request]),
                caller="cli",
                attended=self._answers.are_there,
                cacheable=False,
            )
            await self._until_done(runs, run)
            # Everything is shown only after its commit.
            await self._runtime.db.flush()
            return self._conclude(run, request)

    def deliver(self, session_id: str, frame: Frame) -> None:
        """Show a frame and answer its confirmations and questions."""
        self._view.show(frame.body, live=not frame.seq)
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
            self._drop(event["question_id"])
        elif event["type"] == "tool_confirmation_resolved":
            self._drop(event["confirmation_id"])

    def _drop(self, question_id: str) -> None:
        question = self._questions.pop(question_id, None)
        if question is not None:
            question.cancel()

    def _request(self) -> CallRequest:
        options = self._options
        name = clean(options.tool)
        if options.json_text is not None:
            return CallRequest(call_id("call"), name, options.json_text)
        tool = self._runtime.registry.get(name)
        if tool is None:
            return CallRequest(call_id("call"), name, parse_pairs(options.pairs, None))
        arguments = parse_pairs(options.pairs, tool.parameters, tool.argument_aliases)
        return CallRequest(call_id("call"), name, arguments)

    async def _until_done(self, runs: RunService, run: Run) -> None:
        ends: set[asyncio.Future[Any]] = {run.done, self._stop.asked}
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        if not run.done.done():
            await runs.cancel(run.session.id, run.id)
            await run.done

    def _conclude(self, run: Run, request: CallRequest) -> int:
        outcome = run.finished.get(request.id)
        if outcome is None:
            self._say(f"error: the call did not finish ({run.done.result()})")
            return FAILED
        result = outcome.result
        ending = PrintedResult(
            *(outcome.status, outcome.text, result.error, result.code),
            None if result.raw_result is None else result.raw_result.to_dict(),
            outcome.artifact_id,
            outcome.truncated,
        )
        self._view.finish(ending)
        if ending.is_unattended:
            self._say(f"({NOBODY_THERE})")
        return exit_code_of(ending, self._stop)

    async def _settle(self, session_id: str, request: dict[str, Any]) -> None:
        """Answer one confirmation."""
        try:
            option_id, message = await self._answers.confirmation(request)
        except NoAnswer:
            # No one else can answer a call of this process.
            self._stop.request(NOT_APPROVED)
            return
        try:
            await self._runtime.confirmations.answer(
                request["confirmation_id"],
                ConfirmationReply(option_id, request["digest"], message),
                Approver(LOCAL_USER, is_admin=True),
                session_id=session_id,
            )
        except TollgateError as error:
            self._say(f"The answer was not accepted: {error.message}")

    async def _tell(self, session_id: str, event: dict[str, Any]) -> None:
        """Answer one question."""
        try:
            answer = await self._answers.question(event)
        except NoAnswer:
            self._stop.request(NOT_APPROVED)
            return
        reply = QuestionReply("declined") if answer is None else QuestionReply("answered", answer)
        try:
            await self._runtime.questions.answer(
                event["question_id"], reply, by=LOCAL_USER, session_id=session_id
            )
        except TollgateError as error:
            self._say(f"The answer was not accepted: {error.message}")

    def _say(self, text: str, *, end: str = "\n") -> None:
        self._err.put((text + end).encode("utf-8", "replace"))


async def _nothing_stored(_: str) -> tuple[dict[str, Any], int] | None:
    """Do nothing: the session of a call is new and has nothing to load."""
    return None
