"""`tollgate call` in a running service, with its rules, hooks, tools and workspace."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any

from app import __version__
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
from app.cli.client import Event, WsClient
from app.cli.descriptor_writer import DescriptorWriter
from app.cli.service_errors import CommandRefused
from app.cli.target import RemoteService
from app.core.errors import TollgateError
from app.core.text import clean


async def call_served(options: CallOptions, service: RemoteService) -> int:
    """Run the call in its own session, show it and return the exit code.

    Raises:
        InvalidInput: The command line cannot be parsed as arguments.
        CommandRefused, ConnectionFailed: The service refuses the call, or does not answer.
    """
    name = clean(options.tool)
    arguments: Any = options.json_text
    if arguments is None:
        arguments = await arguments_for(service, name, options.pairs)
    body = {"kind": "direct", "title": f"call {name}"[:60]}
    session_id = (await service.send("POST", "sessions", body=body))["id"]
    out, err = DescriptorWriter(1), DescriptorWriter(2)
    client = WsClient(service.url, service.token, f"tollgate-cli/{__version__}")
    try:
        async with client:
            call = _ServedCall(client, session_id, options, out, err)
            return await call.run(name, arguments)
    finally:
        await out.close()
        await err.close()


class _ServedCall:
    """One call on the WebSocket of a service, from its command to its exit code."""

    def __init__(
        self,
        client: WsClient,
        session_id: str,
        options: CallOptions,
        out: DescriptorWriter,
        err: DescriptorWriter,
    ) -> None:
        self._client = client
        self._session_id = session_id
        self._err = err
        self._view = view_of(options, out, err, ends_here=False)
        self._answers = CallAnswerer(self._say, yes=options.yes)
        self._stop = StopRequest()
        self._questions: dict[str, asyncio.Task[None]] = {}
        out.on_closed(lambda: self._stop.request(READER_GONE))

    async def run(self, name: str, arguments: Any) -> int:
        with self._stop.on_signals():
            await self._client.subscribe(self._session_id)
            ack = await self._client.command(
                "tool_call",
                session_id=self._session_id,
                name=name,
                arguments=arguments,
                attended=self._answers.are_there,
                cacheable=False,
            )
            return await self._until_done(ack["run_id"])

    async def _until_done(self, run_id: str) -> int:
        shown = asyncio.create_task(self._show(run_id))
        ends: set[asyncio.Future[Any]] = {shown, self._stop.asked}
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        if not shown.done():
            await self._client.command(
                "cancel", session_id=self._session_id, target="run", target_id=run_id
            )
        ending = await shown
        if ending is None:
            self._say("error: the call did not finish")
            return FAILED
        self._view.finish(ending)
        if ending.is_unattended:
            self._say(f"({NOBODY_THERE})")
        return exit_code_of(ending, self._stop)

    async def _show(self, run_id: str) -> PrintedResult | None:
        """Show events and answer confirmations until the run ends; return the call's result."""
        ending: PrintedResult | None = None
        async for event in self._client.events():
            if event.get("session_id") != self._session_id or event["type"] == "subscribed":
                continue
            self._view.show(_line(event), live="seq" not in event)
            if event["type"] == "tool_call_completed" and event.get("run_id") == run_id:
                ending = PrintedResult.of(event)
            elif event["type"] == "run_finished" and event["run_id"] == run_id:
                break
            self._follow(event)
        return ending

    def _follow(self, event: Event) -> None:
        kind = event["type"]
        if kind == "tool_confirmation_request":
            task = asyncio.create_task(self._settle(event))
            self._questions[event["confirmation_id"]] = task
        elif kind == "question_asked":
            self._questions[event["question_id"]] = asyncio.create_task(self._tell(event))
        elif kind in ("tool_confirmation_resolved", "question_answered"):
            key = "confirmation_id" if kind == "tool_confirmation_resolved" else "question_id"
            question = self._questions.pop(event[key], None)
            if question is not None:
                question.cancel()

    async def _settle(self, event: Event) -> None:
        """Answer one confirmation."""
        try:
            option_id, message = await self._answers.confirmation(event)
        except NoAnswer:
            self._leave()
            return
        said = {} if message is None else {"message": message}
        await self._send(
            "tool_confirmation_response",
            confirmation_id=event["confirmation_id"],
            option_id=option_id,
            digest=event["digest"],
            **said,
        )

    async def _tell(self, event: Event) -> None:
        """Answer one question."""
        try:
            answer = await self._answers.question(event)
        except NoAnswer:
            self._leave()
            return
        said: Event = {"outcome": "declined"}
        if answer is not None:
            said = {"outcome": "answered", "answer": answer}
        await self._send("question_response", question_id=event["question_id"], **said)

    def _leave(self) -> None:
        """Stop the call if its person has left; without one, others may answer it."""
        if self._answers.are_there:
            self._stop.request(NOT_APPROVED)

    async def _send(self, kind: str, **fields: Any) -> None:
        try:
            await self._client.command(kind, session_id=self._session_id, **fields)
        except TollgateError as error:
            self._say(f"The answer was not accepted: {error.message}")

    def _say(self, text: str, *, end: str = "\n") -> None:
        self._err.put((text + end).encode("utf-8", "replace"))


async def arguments_for(service: RemoteService, name: str, pairs: Sequence[str]) -> dict[str, Any]:
    """Parse `key=value` words with the schema of a service's tool.

    Raises:
        InvalidInput: A word is not `key=value`, or a single value is given twice.
        CommandRefused, ConnectionFailed: The service does not return the tool's schema.
    """
    try:
        row: Mapping[str, Any] = (await service.get("tools", name))["tool"]
    except CommandRefused as error:
        if error.error.get("code") != "tool_not_found":
            raise
        # The service suggests similar names, and records the call.
        return parse_pairs(pairs, None)
    return parse_pairs(pairs, row["parameters"], row.get("argument_aliases", {}))


def _line(event: Event) -> bytes:
    return json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode()
