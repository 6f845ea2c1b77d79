"""Work of six turns, whose service is killed at one moment and started again.

A moment is anything that is seen from outside: a message to a client, a request to the
model. What is found afterwards is told as sentences about what must not be.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app.agents.history import INTERRUPTED, NOT_RUN
from tests.crash.model import LAST_WORDS, TURNS, MarkingModel, Model
from tests.support.scripted_anthropic.server import ScriptedAnthropic
from tests.support.server_process import SERVICE_GONE, Server, new_session, server

Event = dict[str, Any]
OUTPUT_TOKENS = 15
# Calls that leave a mark end so.
MARKED = ("-a", "-b")
PAIRS = (
    ("tool_call_started", "tool_call_completed", "operation_id"),
    ("run_started", "run_finished", "run_id"),
    ("subagent_started", "subagent_finished", "task_id"),
)


class Moments:
    """Counts moments, and acts on one of them."""

    def __init__(self) -> None:
        self.passed = 0
        self._fatal: int | None = None
        self._strike: Callable[[], None] = lambda: None

    def arm(self, fatal: int | None, strike: Callable[[], None]) -> None:
        """Count from the beginning; call `strike` at moment number `fatal`, from 1."""
        self.passed, self._fatal, self._strike = 0, fatal, strike

    def next(self) -> None:
        """One more."""
        self.passed += 1
        if self.passed == self._fatal:
            self._strike()


@dataclass
class Trial:
    """What was seen of a run, and what is stored of it.

    Attributes:
        moments: how many there were until the first process ended.
        begun: whether the service had taken the message.
        acknowledged: the durable events that a client had seen before the kill.
        runs: as the service tells them in the end, and so the rest.
    """

    moments: int = 0
    begun: bool = False
    acknowledged: list[Event] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    runs: list[Event] = field(default_factory=list)
    messages: list[Event] = field(default_factory=list)
    marks: Counter[str] = field(default_factory=Counter)
    refused: list[str] = field(default_factory=list)

    def model(self, asked: Callable[[], None]) -> Model:
        """Whom the service asks; `asked` is told of each request."""
        return MarkingModel(asked)

    async def is_over(self, running: Server, session_id: str, seen: list[Event]) -> bool:
        """Whether all the work has ended, by the durable events that were seen."""
        return bool(seen) and seen[-1]["type"] == "run_finished"

    async def look(self, running: Server, session_id: str) -> None:
        """Take down what is stored in the end."""
        events, runs, messages = await asyncio.gather(
            running.get(f"/sessions/{session_id}/events?limit=1000"),
            running.get(f"/sessions/{session_id}/runs"),
            running.get(f"/sessions/{session_id}/messages"),
        )
        self.events, self.runs = events["events"], runs["runs"]
        self.messages = messages["messages"]

    @property
    def interrupted(self) -> int:
        """Calls that were cut off."""
        return sum(event.get("status") == "interrupted" for event in self.of("tool_call_completed"))

    @property
    def was_resumed(self) -> bool:
        return bool(self.of("run_resumed"))

    def of(self, kind: str) -> list[Event]:
        return [event for event in self.events if event["type"] == kind]

    def wrong(self) -> list[str]:
        """What must not be."""
        return [
            *self.refused,
            *self._in_effects(),
            *self._in_events(),
            *self._in_the_run(),
            *self._in_messages(),
        ]

    def _in_effects(self) -> Iterator[str]:
        for mark, times in self.marks.items():
            if times > 1:
                yield f"{mark} took effect {times} times"
        for event in self.of("tool_call_completed"):
            call_id = event["tool_call_id"]
            if not call_id.endswith(MARKED):
                continue
            if event["status"] == "success" and not self.marks[call_id]:
                yield f"{call_id} was told as done, and was not"
            if event["status"] not in ("success", "interrupted"):
                yield f"{call_id} ended with {event['status']}"
        if unknown := set(self.marks) - {e["tool_call_id"] for e in self.of("tool_call_started")}:
            yield f"nobody was told of {', '.join(sorted(unknown))}"

    def _in_events(self) -> Iterator[str]:
        numbers = [event["seq"] for event in self.events]
        if numbers != list(range(1, len(numbers) + 1)):
            yield f"the log has a gap: {numbers}"
        if self.events[: len(self.acknowledged)] != self.acknowledged:
            yield "what a client had seen is another thing now"
        for start, end, key in PAIRS:
            begun = Counter(event[key] for event in self.of(start))
            ended = Counter(event[key] for event in self.of(end))
            if begun != ended or set(begun.values()) - {1}:
                yield f"{start} and {end} are no pairs: {begun} {ended}"
        yield from self._in_order()

    def _in_order(self) -> Iterator[str]:
        after = {e["run_id"]: e["type"] for e in self.events if "run_id" in e}
        if set(after.values()) - {"run_finished"}:
            yield f"something comes after the end of a run: {after}"

    def _in_the_run(self) -> Iterator[str]:
        if [run["status"] for run in self.runs] != ["success"] * len(self.runs):
            yield f"the run ended as {self.runs}"
        if self.begun and len(self.runs) != 1:
            yield f"{len(self.runs)} runs answer one message"
        answers = sum(message["role"] == "assistant" for message in self.messages)
        for event in self.of("run_finished"):
            if event["usage"]["output_tokens"] != answers * OUTPUT_TOKENS:
                yield f"{answers} answers were counted as {event['usage']}"
        if self.runs and answers != TURNS + 1:
            yield f"{answers} answers, and not {TURNS + 1}"

    def _in_messages(self) -> Iterator[str]:
        reported = {
            block["tool_use_id"]: block["content"][0]["text"]
            for message in self.messages
            if message["role"] == "tool"
            for block in message["content"]
        }
        ended = {e["tool_call_id"]: e["status"] for e in self.of("tool_call_completed")}
        for message in self.messages:
            if message["role"] == "assistant":
                asked = [b["id"] for b in message["content"] if b["type"] == "tool_use"]
                for call_id in asked:
                    yield from _mistold(call_id, reported.get(call_id), ended.get(call_id))
        if self.runs and self.messages[-1]["content"][-1].get("text") != LAST_WORDS:
            yield f"the last word is {self.messages[-1]['content']}"


def _mistold(call_id: str, text: str | None, status: str | None) -> Iterator[str]:
    """Whether the model was told of a call what is true."""
    if text is None:
        yield f"the model has no result of {call_id}"
        return
    is_reported = (text == INTERRUPTED, text == NOT_RUN)
    if is_reported != (status == "interrupted", status is None):
        yield f"{call_id} is {status}, and the model is told: {text}"


async def run_trial(
    folder: Path, *kills: int, kind: Callable[[], Trial] = Trial, **environment: str
) -> Trial:
    """Kill one service after another, and let the last one bring the work to its end.

    Args:
        kills: number of the moment, from 1, at which each of them ends.
    """
    trial, moments = kind(), Moments()
    async with ScriptedAnthropic(fallback=trial.model(moments.next)) as provider:
        environment |= {
            "ANTHROPIC_API_KEY": "test-key",
            "ANTHROPIC_BASE_URL": provider.base_url,
        }
        session_id = ""
        for fatal in (*kills, None):
            async with server(folder, environment) as running:
                is_first = not session_id
                session_id = session_id or await new_session(running)
                moments.arm(fatal, running.process.kill)
                await _watch(running, session_id, moments, trial, says=is_first)
                trial.moments = trial.moments or moments.passed
                if running.process.returncode is None:
                    await trial.look(running, session_id)
        trial.refused = [f"the provider refused: {why}" for why in provider.refused]
    log = folder / "data" / "workspace" / "log"
    trial.marks = Counter(log.read_text(encoding="utf-8").split() if log.exists() else ())
    return trial


async def _watch(
    running: Server, session_id: str, moments: Moments, trial: Trial, *, says: bool
) -> None:
    """Look on until the run, or the service, ends; where nothing was begun, there is no run."""
    seen: list[Event] = []
    try:
        async with running.connect() as chat:
            await chat.send({"type": "subscribe", "id": "s", "session_id": session_id})
            if says:
                words = {"type": "user_message", "id": "u", "content": "Begin"}
                await chat.send({**words, "session_id": session_id})
            elif not (await running.get(f"/sessions/{session_id}/runs"))["runs"]:
                return
            while not await trial.is_over(running, session_id, seen):
                message = await chat.receive()
                trial.begun = trial.begun or message.get("ref") == "u"
                seen += [message] if "seq" in message else []
                moments.next()
    except SERVICE_GONE:
        await running.process.wait()
    finally:
        trial.acknowledged = max(trial.acknowledged, seen, key=len)
