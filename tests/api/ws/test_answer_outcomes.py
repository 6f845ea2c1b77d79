"""Every answer has one outcome, which says who and what, and which all viewers see."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from app.execution.calls import CallRequest
from tests.api.people import WORK, user
from tests.execution.lab import WRITES, AnyArgs, made
from tests.support.service import Chat, Message, Running, serving, settings_for

RISKY = {"name": "bash", "arguments": {"command": "rm -rf build"}}
SESSIONS, EACH, AT_ONCE = 10, 50, 40
PATIENCE_S = 60


@asynccontextmanager
async def person(running: Running, name: str, *scopes: str) -> AsyncIterator[Chat]:
    secret, _ = await running.service.tokens.create(name, scopes or WORK)
    async with running.connect(hello={"auth": {"token": secret}}) as chat:
        yield chat


@asynccontextmanager
async def two_viewers(folder: Path, **settings: Any) -> AsyncIterator[tuple[Running, Chat, Chat]]:
    """The owner of sessions and an administrator, on one service."""
    own = settings_for(folder, allow_anonymous=False, **settings)
    async with (
        serving(own) as running,
        person(running, "ann") as ann,
        person(running, "root", *WORK, "admin") as root,
    ):
        yield running, ann, root


async def asked(running: Running, ann: Chat, root: Chat, call: dict[str, Any] = RISKY) -> Message:
    """Make a call that asks, in a session that both see."""
    session = running.session(user_id="ann")
    for chat in (ann, root):
        assert (await chat.command(type="subscribe", session_id=session.id))["type"] != "error"
    await ann.command(type="tool_call", session_id=session.id, **call)
    request = await ann.until("tool_confirmation_request")
    assert (await root.until("tool_confirmation_request"))["digest"] == request["digest"]
    return request


async def reply(chat: Chat, request: Message, option_id: str, **fields: Any) -> Message:
    return await chat.command(
        type="tool_confirmation_response",
        session_id=request["session_id"],
        confirmation_id=request["confirmation_id"],
        option_id=option_id,
        digest=request["digest"],
        **fields,
    )


def refused(message: Message) -> tuple[str, str | None, str | None]:
    assert message["type"] == "error", message
    details = message["error"].get("details") or {}
    return message["error"]["code"], details.get("outcome"), details.get("by")


async def both_see(ann: Chat, root: Chat, request: Message) -> tuple[str, str | None]:
    """What both viewers are shown of the outcome, which is the same."""
    seen = []
    for chat in (ann, root):
        resolved = await chat.until(
            "tool_confirmation_resolved",
            lambda event: event["confirmation_id"] == request["confirmation_id"],
        )
        seen.append((resolved["outcome"], resolved.get("by")))
    assert seen[0] == seen[1]
    return seen[0]


@pytest.mark.parametrize("option", ["approve_once", "decline"])
async def test_who_answers_second_learns_who_answered_and_what(tmp_path: Path, option: str):
    outcome = "declined" if option == "decline" else "approved"
    async with two_viewers(tmp_path) as (running, ann, root):
        request = await asked(running, ann, root)
        assert (await reply(ann, request, option))["type"] == "ack"
        for chat in (ann, root):
            for again in ("approve_once", "decline"):
                late = await reply(chat, request, again)
                assert refused(late) == ("confirmation_already_resolved", outcome, "ann")
        assert await both_see(ann, root, request) == (outcome, "ann")


async def test_an_answer_after_the_expiry_finds_it_expired(tmp_path: Path):
    async with two_viewers(tmp_path, confirmation_ttl_s=0.2) as (running, ann, root):
        request = await asked(running, ann, root)
        assert await both_see(ann, root, request) == ("expired", None)
        for chat in (ann, root):
            late = await reply(chat, request, "approve_once")
            assert refused(late) == ("confirmation_expired", "expired", None)
        done = await ann.until("tool_call_completed")
        assert done["status"] == "expired"
        assert "person" not in done["error"]["message"].lower()


@pytest.mark.parametrize("target", ["run", "call"])
async def test_an_answer_to_a_cancelled_call_finds_it_finished(tmp_path: Path, target: str):
    async with two_viewers(tmp_path) as (running, ann, root):
        request = await asked(running, ann, root)
        cancelled = await ann.command(
            type="cancel",
            session_id=request["session_id"],
            target=target,
            target_id=request["run_id" if target == "run" else "tool_call_id"],
        )
        assert cancelled["type"] == "ack", cancelled
        assert await both_see(ann, root, request) == ("cancelled", None)
        late = await reply(root, request, "approve_once")
        assert refused(late) == ("already_finished", "cancelled", None)
        done = await ann.until("tool_call_completed")
        assert done["status"] == "cancelled"
        assert "person" not in done["error"]["message"].lower()


async def test_an_answer_counts_while_nobody_has_the_session_open(tmp_path: Path):
    (tmp_path / "workspace" / "build").mkdir(parents=True)
    async with (
        serving(settings_for(tmp_path, allow_anonymous=False)) as running,
        user(running, "ann") as client,
    ):
        session = running.session(user_id="ann")
        async with person(running, "ann") as ann:
            await ann.command(type="subscribe", session_id=session.id)
            await ann.command(type="tool_call", session_id=session.id, **RISKY)
            request = await ann.until("tool_confirmation_request")
        path = f"/confirmations/{request['confirmation_id']}"
        body = {"option_id": "decline", "digest": request["digest"]}
        assert (await client.post(path, json=body)).json()["outcome"] == "declined"
        async with person(running, "ann") as again:
            seen = await again.command(type="subscribe", session_id=session.id, after=0)
            assert seen["pending_confirmations"] == []
            resolved = await again.until("tool_confirmation_resolved")
            assert (resolved["outcome"], resolved["by"]) == ("declined", "ann")
            late = await reply(again, request, "approve_once")
            assert refused(late) == ("confirmation_already_resolved", "declined", "ann")


async def test_an_approval_whose_targets_changed_is_asked_again_for_all_viewers(tmp_path: Path):
    async with two_viewers(tmp_path) as (running, ann, root):
        folder = Path(running.service.projects.get("default").root) / "build"
        folder.mkdir()
        request = await asked(running, ann, root)
        (folder / "new.txt").write_text("not seen", encoding="utf-8")
        assert (await reply(ann, request, "approve_once"))["type"] == "ack"
        assert await both_see(ann, root, request) == ("approved", "ann")
        second = [await chat.until("tool_confirmation_request") for chat in (ann, root)]
        assert "new: build/new.txt" in second[0]["asked_again"]
        assert second[0]["confirmation_id"] == second[1]["confirmation_id"]
        # An answer to the first one does not count for the second.
        late = await reply(root, request, "approve_once")
        assert refused(late) == ("confirmation_already_resolved", "approved", "ann")
        mixed = {**second[0], "digest": request["digest"]}
        assert refused(await reply(root, mixed, "approve_once"))[0] == "digest_mismatch"
        assert folder.exists()
        assert (await reply(root, second[0], "decline"))["type"] == "ack"
        assert await both_see(ann, root, second[0]) == ("declined", "root")


async def test_edited_arguments_are_judged_as_a_whole(tmp_path: Path):
    """Rules, the floor and other reasons hold for what is edited as for any call."""
    deny = {
        "tool": "bash",
        "decision": "deny",
        "justification": "not from here",
        "match": {"argv": ["git", "push", "..."]},
    }
    async with two_viewers(tmp_path) as (running, ann, root):
        async with user(running, "root", "admin") as client:
            assert (await client.post("/admin/rules", json=deny)).status_code == 201
        request = await asked(running, ann, root)
        for command, why in (("git push", "not from here"), ("rm -rf /", "Denied by policy")):
            answer = await reply(ann, request, "approve_once", edited_args={"command": command})
            assert refused(answer)[0] == "validation_failed"
            assert why in answer["error"]["message"]
        other = {"command": "git reset --hard"}
        assert (await reply(ann, request, "approve_once", edited_args=other))["type"] == "ack"
        second = await root.until("tool_confirmation_request")
        assert second["subject"]["command"] == "git reset --hard"
        assert second["risk"]["rules"][0]["rule_id"] == "arguments_changed"
        assert (await reply(root, second, "decline"))["type"] == "ack"
        assert await both_see(ann, root, second) == ("declined", "root")


class Racer:
    """Answers everything it is asked with one option, as soon as it sees it."""

    def __init__(self, chat: Chat, option_id: str) -> None:
        self._socket = chat.socket
        self._option_id = option_id
        self._refs: dict[str, str] = {}
        self._waiting: list[Message] = []
        self._in_flight = 0
        self.won: set[str] = set()
        self.lost: dict[str, str] = {}
        self.seen: dict[str, tuple[str, str]] = {}

    async def race(self, total: int) -> None:
        while len(self.won) + len(self.lost) < total or len(self.seen) < total:
            message = json.loads(await self._socket.recv())
            kind = message["type"]
            if kind == "tool_confirmation_request":
                self._waiting.append(message)
            elif kind == "tool_confirmation_resolved":
                self.seen[message["confirmation_id"]] = (message["outcome"], message["by"])
            elif kind == "ack" and message["ref"] in self._refs:
                self.won.add(self._refs[message["ref"]])
                self._in_flight -= 1
            elif kind == "error":
                assert message["error"]["code"] == "confirmation_already_resolved", message
                self.lost[self._refs[message["ref"]]] = message["error"]["details"]["by"]
                self._in_flight -= 1
            while self._waiting and self._in_flight < AT_ONCE:
                self._in_flight += 1
                await self._answer(self._waiting.pop(0))

    async def _answer(self, request: Message) -> None:
        command_id = f"{self._option_id}_{request['confirmation_id']}"
        self._refs[command_id] = request["confirmation_id"]
        command = {
            "v": 1,
            "id": command_id,
            "type": "tool_confirmation_response",
            "session_id": request["session_id"],
            "confirmation_id": request["confirmation_id"],
            "option_id": self._option_id,
            "digest": request["digest"],
        }
        await self._socket.send(json.dumps(command))


@pytest.mark.requirement("D-4")
async def test_of_two_people_who_disagree_at_once_one_wins_each_of_500(tmp_path: Path):
    limits = {
        "command_rate": 100_000,
        "command_burst": 100_000,
        "outbox_frames": 100_000,
        "outbox_bytes": 64 << 20,
        "max_pending_confirmations": EACH,
    }
    ran: Counter[int] = Counter()

    async def send(args: AnyArgs, ctx: Any) -> str:
        ran[args.number] += 1
        return "sent"

    async with two_viewers(tmp_path, **limits) as (running, ann, root):
        running.service.registry.register(made(send, requires_confirmation=True, **WRITES))
        sessions = [running.session(user_id="ann") for _ in range(SESSIONS)]
        for chat in (ann, root):
            for session in sessions:
                await chat.command(type="subscribe", session_id=session.id)
        total = SESSIONS * EACH
        approves, declines = Racer(ann, "approve_once"), Racer(root, "decline")
        races = [asyncio.create_task(racer.race(total)) for racer in (approves, declines)]
        runs = [
            await running.service.runs.call_tools(
                session,
                [
                    CallRequest(f"c{number}", "send", {"number": place * EACH + number})
                    for number in range(EACH)
                ],
                caller="websocket",
            )
            for place, session in enumerate(sessions)
        ]
        async with asyncio.timeout(PATIENCE_S):
            await asyncio.gather(*races, *(run.done for run in runs))
    assert approves.won.isdisjoint(declines.won)
    assert len(approves.won) + len(declines.won) == total
    assert approves.seen == declines.seen
    assert {key for key, seen in approves.seen.items() if seen == ("approved", "ann")} == (
        approves.won
    )
    assert {key for key, seen in approves.seen.items() if seen == ("declined", "root")} == (
        declines.won
    )
    assert set(approves.lost.values()) <= {"root"}
    assert set(declines.lost.values()) <= {"ann"}
    assert len(ran) == len(approves.won)
    assert set(ran.values()) <= {1}
