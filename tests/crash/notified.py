"""Requests of one run whose service is killed around the notifications about them.

A moment is a request that reaches the provider, its answer, or a message that a client sees. The
run asks questions and confirmations, and the client answers each.
"""

from __future__ import annotations

import base64
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from tests.channels.notifications.provider import Arrival, Provider, provider
from tests.crash.trial import Moments
from tests.support.http import HttpClient
from tests.support.scripted_anthropic.server import Received, ScriptedAnthropic
from tests.support.scripted_anthropic.turns import Turn, text, tool_use
from tests.support.server_process import SERVICE_GONE, Server, new_session, server
from tests.support.service import Chat

# Of one goal, three calls are declined before further ones are refused unasked.
CALLS = ("ask", "run", "ask", "run", "ask", "run", "ask", "ask")
KEY = "whsec_" + base64.b64encode(b"k" * 32).decode()


@dataclass
class NotifiedTrial:
    """What a provider was noted, and what is stored of it.

    Attributes:
        moments: how many there were until the first process ended.
        kills: how many processes were killed.
        arrived: requests of the provider, by delivery ID.
        stored: how each request ended, by the stored events; None while it is pending.
        runs: as the service shows them in the end.
    """

    moments: int = 0
    kills: int = 0
    arrived: dict[str, list[Arrival]] = field(default_factory=lambda: defaultdict(list))
    stored: dict[str, str | None] = field(default_factory=dict)
    runs: list[dict[str, Any]] = field(default_factory=list)

    def note(self, arrival: Arrival) -> None:
        self.arrived[arrival.headers["webhook-id"]].append(arrival)

    def wrong(self) -> list[str]:
        """What must not be."""
        return [*self._doubled(), *self.lost()]

    def _deliveries(self, item_id: str, event: str) -> list[str]:
        """The delivery IDs of a state."""
        return [
            key
            for key, (first, *_) in self.arrived.items()
            if (first.json["data"]["item_id"], first.json["data"]["event"]) == (item_id, event)
        ]

    def _doubled(self) -> Iterator[str]:
        for key, arrivals in self.arrived.items():
            if len({arrival.body for arrival in arrivals}) > 1:
                yield f"{key} was delivered with different bodies"
        for item_id in self.stored:
            for event in ("opened", "closed"):
                if len(keys := self._deliveries(item_id, event)) > 1:
                    yield f"{event} of {item_id} has the IDs {keys}"

    def lost(self) -> list[str]:
        """What was asked and not ended, or whose end was not delivered."""
        return list(self._lost())

    def _lost(self) -> Iterator[str]:
        for item_id, state in self.stored.items():
            opened, closed = (self._deliveries(item_id, event) for event in ("opened", "closed"))
            if state is None:
                yield f"{item_id} was not answered"
            if opened and not closed:
                yield f"the end of {item_id} was not delivered"
        noted = {arrivals[0].json["data"]["item_id"] for arrivals in self.arrived.values()}
        if unknown := noted - set(self.stored):
            yield f"nobody asked {sorted(unknown)}"


def model(received: Received) -> Turn:
    """Ask for one risky call after another, whatever becomes of them."""
    asked = sum(
        block["type"] == "tool_use"
        for message in received.messages
        if message["role"] == "assistant"
        for block in message["content"]
    )
    if asked >= len(CALLS):
        return Turn(text("Done."))
    if CALLS[asked] == "ask":
        return Turn(tool_use("ask_user", {"question": f"Which of {asked}?"}, id=f"call-{asked}"))
    return Turn(tool_use("bash", {"command": f"rm -rf build-{asked}"}, id=f"call-{asked}"))


async def run_notified(folder: Path, *kills: int) -> NotifiedTrial:
    """Kill one service after another, and let the last one bring everything to its end.

    Args:
        kills: number of the moment, from 1, at which each of them ends.
    """
    trial, moments = NotifiedTrial(), Moments()
    async with provider() as peer, ScriptedAnthropic(fallback=model) as llm:
        peer.on_arrival = _noting(trial, moments)
        peer.on_answer = lambda _: moments.next()
        environment = {"ANTHROPIC_API_KEY": "test-key", "ANTHROPIC_BASE_URL": llm.base_url}
        session_id = ""
        for fatal in (*kills, None):
            async with server(folder, environment) as running:
                if not session_id:
                    await _subscribe(running, peer)
                    session_id = await new_session(running)
                    moments.arm(fatal, running.process.kill)
                    await _work(running, session_id, moments, says=True)
                    trial.moments = moments.passed
                else:
                    moments.arm(fatal, running.process.kill)
                    await _work(running, session_id, moments, says=False)
                if running.process.returncode is None:
                    await _settle(running, session_id, trial)
                trial.kills += running.process.returncode is not None
    return trial


def _noting(trial: NotifiedTrial, moments: Moments) -> Callable[[Arrival], None]:
    def note(arrival: Arrival) -> None:
        trial.note(arrival)
        moments.next()

    return note


async def _subscribe(running: Server, peer: Provider) -> None:
    async with HttpClient(base_url=f"{running.url}/api/v1") as client:
        body = {
            "name": "hook",
            "kind": "webhook",
            "secrets": {"url": f"{peer.url}/in", "key": KEY},
        }
        made = await client.post("/admin/notification-channels", json=body)
        made.raise_for_status()
        wanted = {"channel_id": made.json()["id"], "audience": "all"}
        (await client.post("/admin/notification-subscriptions", json=wanted)).raise_for_status()


async def _work(running: Server, session_id: str, moments: Moments, *, says: bool) -> None:
    """Decline each confirmation until the run, or the service, ends."""
    try:
        async with running.connect() as chat:
            subscribed = await chat.command(type="subscribe", session_id=session_id)
            for asked in subscribed["pending_confirmations"] + subscribed["pending_questions"]:
                await _answer(chat, session_id, asked)
            runs = (await running.get(f"/sessions/{session_id}/runs"))["runs"]
            if not runs:
                words = {"type": "user_message", "content": "Begin"}
                await chat.command(**words, session_id=session_id)
            elif runs[0]["status"] == "success":
                return
            while True:
                message = await chat.next()
                moments.next()
                if message["type"] in ("tool_confirmation_request", "question_asked"):
                    await _answer(chat, session_id, message)
                elif message["type"] == "run_finished":
                    return
    except SERVICE_GONE:
        await running.process.wait()


async def _answer(chat: Chat, session_id: str, asked: dict[str, Any]) -> None:
    """Decline a confirmation, or answer a question."""
    if "confirmation_id" in asked:
        answer = {
            "type": "tool_confirmation_response",
            "confirmation_id": asked["confirmation_id"],
            "digest": asked["digest"],
            "option_id": "decline",
        }
    else:
        answer = {
            "type": "question_response",
            "question_id": asked["question_id"],
            "outcome": "answered",
            "answer": "The first.",
        }
    await chat.command(session_id=session_id, **answer)


async def _settle(running: Server, session_id: str, trial: NotifiedTrial) -> None:
    """Wait until everything that was asked has ended and been delivered."""
    try:
        while True:
            page = await running.get("/admin/notification-channels")
            events = (await running.get(f"/sessions/{session_id}/events?limit=1000"))["events"]
            trial.stored = _ends(events)
            trial.runs = (await running.get(f"/sessions/{session_id}/runs"))["runs"]
            if not page["channels"][0]["health"]["pending"] and not trial.lost():
                return
    except httpx2.TransportError:
        await running.process.wait()


def _ends(events: list[dict[str, Any]]) -> dict[str, str | None]:
    ends: dict[str, str | None] = {}
    for event in events:
        item_id = event.get("confirmation_id") or event.get("question_id")
        if item_id is not None:
            ends[item_id] = event.get("outcome")
    return ends
