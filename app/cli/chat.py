"""`tollgate chat`: a session of a running service in the terminal."""

from __future__ import annotations

import asyncio
import shlex
import signal
import sys
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console

from app import __version__
from app.cli.arguments import parse_pairs, single_text_argument
from app.cli.client import Event, State, WsClient
from app.cli.confirmation_text import HOW_TO_ANSWER, option_lines, typed_answer
from app.cli.other_requests import OtherRequests
from app.cli.questions import DECLINE, Form
from app.cli.rest import request
from app.cli.service_errors import CommandRefused, ConnectionFailed, checked_url
from app.cli.stdin_lines import StdinLines
from app.cli.stream_view import StreamView
from app.cli.terminal import is_terminal, without_keys
from app.core.errors import InvalidInput, TollgateError
from app.core.escaping import visible

HELP = """\
text              send a message to the model
/TOOL key=value   call a tool yourself; /bash ls -la works too
/tools            list the tools
/sessions [ID]    list sessions, or go to one
/new              start a new session
/cancel           cancel what is running
/quit             leave; running work continues
while a call awaits approval: the number of an answer, a to approve once,
                  d REASON to decline, e {JSON} to approve with other arguments
while a tool asks: the number of a choice, or your own words; /decline to skip
Ctrl-C            cancel what is running; when nothing is running, leave"""
PROMPT = "› "
UNAUTHENTICATED = 4501  # close code of the server without a valid token
STILL_OPEN = frozenset({"forbidden", "validation_failed", "invalid_arguments"})


@dataclass(frozen=True, slots=True)
class ChatOptions:
    """Address and token of the service."""

    url: str
    token: str | None = None


@dataclass(slots=True)
class _ChatState:
    """State of the session that is shown."""

    session_id: str = ""
    replay_until: int = 0
    runs: list[str] = field(default_factory=list)
    ended: set[str] = field(default_factory=set)
    cancelling: bool = False
    questions: dict[str, Event] = field(default_factory=dict)
    forms: dict[str, Form] = field(default_factory=dict)
    asking: str | None = None

    @property
    def is_idle(self) -> bool:
        return not self.runs

    @property
    def open(self) -> list[str]:
        """Return the IDs of all open requests, those that block a call's start first."""
        return [*self.questions, *self.forms]

    def start(self, run_id: str) -> None:
        """Record that a run has started or will start."""
        if run_id not in self.runs:
            self.runs.append(run_id)

    def end(self, run_id: str) -> None:
        """Record that a run has ended."""
        self.runs = [run for run in self.runs if run != run_id]
        self.ended.add(run_id)
        self.cancelling = False


async def run_chat(options: ChatOptions, *, session_id: str | None, new: bool) -> int:
    """Chat until the user leaves; return the exit code.

    Raises:
        InvalidInput: The address is invalid.
        ConnectionFailed, CommandRefused: The service or session does not exist.
    """
    url = checked_url(options.url)
    view = StreamView(Console())
    client = WsClient(url, options.token, f"tollgate-cli/{__version__}", _announcer(view))
    try:
        async with client:
            chat = Chat(client, view, options)
            await chat.open(session_id, new=new)
            await chat.watch_others()
            return await chat.run()
    except ConnectionFailed as error:
        hint = " Is `tollgate serve` running?" if not client.ready else ""
        if str(UNAUTHENTICATED) in error.message:
            hint = "  Set a valid token with --token or in TOLLGATE_TOKEN."
        raise ConnectionFailed(error.message + "." + hint) from None


class Chat:
    """One terminal on one session: reads lines and prints events."""

    def __init__(self, client: WsClient, view: StreamView, options: ChatOptions) -> None:
        self._client = client
        self._view = view
        self._options = options
        self._lines = StdinLines()
        self._tools: dict[str, Mapping[str, Any]] = {}
        self._state = _ChatState()
        self._own: set[str] = set()
        self._others = OtherRequests()
        self._on_terminal = is_terminal(sys.stdin)
        self._changed = asyncio.Event()
        self._leaving: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._cancels: set[asyncio.Task[None]] = set()

    async def open(self, session_id: str | None, *, new: bool = False) -> None:
        """Subscribe to a session: the given one, the newest, or a new one."""
        if session_id is None and not new:
            known = await self._rest("/sessions?kind=chat&limit=1")
            session_id = known["sessions"][0]["id"] if known["sessions"] else None
        if session_id is None:
            session_id = (await self._rest("/sessions", {}))["id"]
        rows = (await self._rest("/tools"))["tools"]
        self._tools = {row["name"]: row for row in rows}
        former, self._state = self._state, _ChatState(session_id)
        self._view.note(f"session {session_id} on {self._client.url}  (/help for help)")
        try:
            await self._client.subscribe(session_id)
        except CommandRefused:
            self._state = former
            raise
        if former.session_id not in ("", session_id):
            self._client.positions.pop(former.session_id, None)
            await self._client.command("unsubscribe", session_id=former.session_id)

    async def watch_others(self) -> None:
        """Report pending requests of other sessions from now on, if the token may decide any."""
        try:
            message = await self._client.watch_inbox()
        except CommandRefused:
            return
        self._note(self._others.start(message, self._state.session_id))

    def _note(self, text: str | None) -> None:
        if text is not None:
            self._view.note(text, "yellow")

    async def run(self) -> int:
        """Run until the user leaves or the connection ends permanently."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, self._interrupt)
        events, lines = asyncio.create_task(self._show()), asyncio.create_task(self._listen())
        try:
            done, _ = await asyncio.wait(
                {events, lines, self._leaving}, return_when=asyncio.FIRST_COMPLETED
            )
            for task in done:
                task.result()
        finally:
            loop.remove_signal_handler(signal.SIGINT)
            for task in (events, lines):
                task.cancel()
            await asyncio.gather(events, lines, return_exceptions=True)
        return 0

    async def _show(self) -> None:
        async for event in self._client.events():
            if event.get("session_id") == self._state.session_id:
                self._follow(event)
            elif event["type"] == "inbox":
                self._note(self._others.start(event, self._state.session_id))
            elif event["type"] == "inbox_changed":
                self._note(self._others.change(event, self._state.session_id))
            elif event["type"] == "error":
                self._view.note(visible(event["error"]["message"]), "red")

    def _follow(self, event: Event) -> None:
        """Show an event and update the state."""
        state, kind = self._state, event["type"]
        if kind == "subscribed":
            self._subscribed(event)
        elif event.get("client_message_id") not in self._own:
            self._view.event(event)
        if kind == "run_started":
            state.start(event["run_id"])
        elif kind == "run_finished":
            state.end(event["run_id"])
        elif kind == "tool_confirmation_request" and event["seq"] > state.replay_until:
            state.questions[event["confirmation_id"]] = event
        elif kind == "tool_confirmation_resolved":
            state.questions.pop(event["confirmation_id"], None)
        elif kind == "question_asked" and event["seq"] > state.replay_until:
            state.forms[event["question_id"]] = Form(event)
        elif kind == "question_answered":
            state.forms.pop(event["question_id"], None)
        self._after(event)

    def _subscribed(self, event: Event) -> None:
        """Show past questions in passing, and ask those that are still open."""
        state = self._state
        state.replay_until = event["head"]
        state.questions = {item["confirmation_id"]: item for item in event["pending_confirmations"]}
        state.forms = {item["question_id"]: Form(item) for item in event["pending_questions"]}
        if not event["recovered"]:
            self._view.note("Too many earlier events to replay; showing new events from here.")

    def _after(self, event: Event) -> None:
        """Ask the next question, or show the prompt, after the replay."""
        state = self._state
        position = self._client.positions.get(state.session_id)
        caught_up = position is not None and position.seq >= state.replay_until
        if state.asking not in state.open:
            state.asking = None
        if caught_up and state.asking is None and state.open:
            self._ask(state.open[0])
        elif caught_up and event["type"] in ("subscribed", "run_finished") and state.is_idle:
            self._prompt()
        self._changed.set()

    def _ask(self, asked_id: str) -> None:
        self._state.asking = asked_id
        self._lines.forget()
        form = self._state.forms.get(asked_id)
        if form is not None:
            if form.event.get("seq", 0) <= self._state.replay_until:
                self._show_question(form)
            self._view.prompt(f"  {form.prompt()}")
            return
        question = self._state.questions[asked_id]
        if question.get("seq", 0) <= self._state.replay_until:
            self._view.event({"type": "tool_confirmation_request", **question})
        for line in option_lines(question):
            self._view.line(line)
        self._view.prompt(f"  {HOW_TO_ANSWER}")

    def _show_question(self, form: Form) -> None:
        head, *choices = form.lines()
        self._view.line(head, "bold yellow")
        for line in choices:
            self._view.line(line)

    async def _listen(self) -> None:
        async for typed in self._lines.read():
            line = without_keys(typed) if self._on_terminal else typed
            if self._on_terminal:
                self._view.typed()
            else:
                await self._settled()
            try:
                if await self._handle(line.strip()):
                    return
            except ConnectionFailed:
                raise
            except TollgateError as error:
                self._view.note(visible(error.message), "red")
            if self._state.is_idle and not self._state.asking:
                self._prompt()
        await self._settled()

    async def _settled(self) -> None:
        """Wait until nothing runs, or a request is open."""
        while not (self._state.is_idle or self._state.asking):
            self._changed.clear()
            await self._changed.wait()

    async def _handle(self, line: str) -> bool:
        """Handle a line; return whether the user leaves."""
        name, _, rest = line.removeprefix("/").partition(" ")
        if line in ("/quit", "/exit"):
            return True
        if line == "/help":
            self._view.line(HELP)
        elif line == "/tools":
            self._list_tools()
        elif line == "/cancel":
            await self._cancel()
        elif line == "/new":
            await self.open(None, new=True)
        elif line.startswith("/sessions"):
            await self._sessions(rest.strip())
        elif self._state.asking:
            await self._answer(line)
        elif line.startswith("/"):
            await self._call(name, rest.strip())
        elif line:
            await self._say(line)
        return False

    async def _say(self, text: str) -> None:
        if not self._state.is_idle:
            self._view.note("Something is running; your message is queued.")
        elif "model" not in self._client.ready.get("features", ()):
            self._view.note("No model is configured; use /TOOL to call a tool.", "yellow")
        session_id = self._state.session_id
        message_id = f"cmd_{uuid.uuid4().hex}"
        self._own.add(message_id)
        ack = await self._client.command(
            "user_message", id=message_id, session_id=session_id, content=text, when_busy="queue"
        )
        self._begun(ack)

    async def _call(self, name: str, rest: str) -> None:
        arguments = tool_arguments(self._tools.get(name), rest)
        session_id = self._state.session_id
        ack = await self._client.command(
            "tool_call", session_id=session_id, name=name, arguments=arguments
        )
        self._begun(ack)

    def _begun(self, ack: Event) -> None:
        """Count a run from its acknowledgement on: its first event may arrive later."""
        if ack["run_id"] not in self._state.ended:
            self._state.start(ack["run_id"])

    async def _answer(self, line: str) -> None:
        state = self._state
        form = state.forms.get(str(state.asking))
        if form is not None:
            await self._tell(form, line)
            return
        question = state.questions[str(state.asking)]
        try:
            typed = typed_answer(question, line)
        except InvalidInput as error:
            self._view.prompt(f"  {visible(error.message)}. Again: {HOW_TO_ANSWER}")
            return
        if typed is None:
            self._view.prompt(f"  No valid choice. Try again: {HOW_TO_ANSWER}")
            return
        confirmation_id = question["confirmation_id"]
        state.questions.pop(confirmation_id)
        state.asking = None
        answer: dict[str, Any] = {"option_id": typed.option_id, "digest": question["digest"]}
        if typed.message is not None:
            answer["message"] = typed.message
        if typed.edited_args is not None:
            answer["edited_args"] = typed.edited_args
        try:
            await self._client.command(
                "tool_confirmation_response",
                session_id=state.session_id,
                confirmation_id=confirmation_id,
                **answer,
            )
        except CommandRefused as error:
            self._view.note(visible(error.message), "red")
            if error.error.get("code") in STILL_OPEN:
                state.questions[confirmation_id] = question
                self._ask(confirmation_id)

    async def _tell(self, form: Form, line: str) -> None:
        """Answer a question; several questions take one line each."""
        answer: dict[str, Any] = {"outcome": "declined"}
        if line != DECLINE:
            if not form.take(line):
                self._view.prompt(f"  Empty answer. Try again: {form.prompt()}")
                return
            if not form.is_complete:
                self._show_question(form)
                self._view.prompt(f"  {form.prompt()}")
                return
            answer = {"outcome": "answered", "answer": form.answer}
        question_id = form.event["question_id"]
        self._state.forms.pop(question_id)
        self._state.asking = None
        try:
            ack = await self._client.command(
                "question_response",
                session_id=self._state.session_id,
                question_id=question_id,
                **answer,
            )
        except CommandRefused as error:
            self._view.note(visible(error.message), "red")
            if error.error.get("code") in STILL_OPEN:
                self._state.forms[question_id] = Form(form.event)
                self._ask(question_id)
            return
        if ack["outcome"] == "late":
            self._view.note("The question has already ended; your answer is sent as a message.")
            self._begun(ack)

    async def _cancel(self) -> None:
        if self._state.is_idle:
            self._view.note("Nothing is running.")
            return
        self._state.cancelling = True
        for run_id in list(self._state.runs):
            await self._client.command(
                "cancel", session_id=self._state.session_id, target="run", target_id=run_id
            )

    def _interrupt(self) -> None:
        """Handle Ctrl-C: cancel what runs; when nothing is left to cancel, leave."""
        self._view.interrupted()
        if self._state.is_idle or self._state.cancelling:
            if not self._leaving.done():
                self._leaving.set_result(None)
            return
        self._state.cancelling = True
        self._view.note("Cancelling; press Ctrl-C again to leave.")
        task = asyncio.create_task(self._try_cancel())
        self._cancels.add(task)
        task.add_done_callback(self._cancels.discard)

    async def _try_cancel(self) -> None:
        try:
            await self._cancel()
        except TollgateError as error:
            self._view.note(visible(error.message), "red")

    def _list_tools(self) -> None:
        for name, row in self._tools.items():
            if row.get("alias_of") or not row.get("enabled", True):
                continue
            first = str(row["description"]).splitlines()[0]
            self._view.line(f"/{name:14} {row['permission_class']:9} {visible(first)}")

    async def _sessions(self, wanted: str) -> None:
        if wanted:
            await self.open(wanted)
            return
        for row in (await self._rest("/sessions?limit=20"))["sessions"]:
            mark = "*" if row["id"] == self._state.session_id else " "
            self._view.line(
                f"{mark} {row['id']}  {row['updated_at'][:16]}  {visible(row['title'])}"
            )

    def _prompt(self) -> None:
        self._view.prompt(PROMPT)

    async def _rest(self, path: str, body: Event | None = None) -> Any:
        return await request(self._client.url, path, token=self._options.token, body=body)


def tool_arguments(row: Mapping[str, Any] | None, rest: str) -> dict[str, Any]:
    """Parse the arguments of a `/TOOL …` line: `key=value` words, or the only text argument as is.

    Raises:
        InvalidInput: The line is neither.
    """
    schema = row["parameters"] if row else None
    aliases = row.get("argument_aliases", {}) if row else {}
    if not rest:
        return {}
    first = rest.partition("=")[0]
    single = single_text_argument(schema) if schema is not None else None
    known = first in aliases or (schema is not None and first in schema.get("properties", {}))
    if single is not None and not known:
        return {single: rest}
    try:
        words = shlex.split(rest)
    except ValueError as error:
        raise InvalidInput(f"Cannot parse the arguments: {error}") from None
    return parse_pairs(words, schema, aliases)


def _announcer(view: StreamView) -> Callable[[State, str], None]:
    """Report once that the connection is lost, and once that it is restored."""
    lost = False

    def announce(state: State, detail: str) -> None:
        nonlocal lost
        if state == "lost" and not lost:
            view.note(f"Connection lost: {visible(detail)}. Reconnecting …", "yellow")
        elif state == "connected" and lost:
            view.note("Reconnected.", "yellow")
        lost = state == "lost"

    return announce
