"""Sessions that outgrow a model's window: they go on, and nothing that is stored is lost."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

import pytest

from app.agents.history import to_messages
from app.config.settings import Settings
from app.execution.confirmation.answers import ConfirmationReply
from app.governance.agents import AgentProfile
from app.governance.approvals.approver import Approver
from tests.agents.office import Office, open_office
from tests.execution.lab import WRITES, AnyArgs, made
from tests.support.scripted_anthropic.server import Received
from tests.support.scripted_anthropic.turns import (
    Answer,
    Turn,
    TurnUsage,
    http_error,
    text,
    tool_use,
)

BUDGET = 12_000
TURNS = 20
FACTS = ("FACT-pelican", "FACT-42-boats", "FACT-no-mondays")
Script = Callable[[Received], Answer]


def tokens_of(request: Received) -> int:
    """Of a whole request: four characters of its JSON to a token."""
    return len(json.dumps(request.body, ensure_ascii=False)) // 4


def is_summary(request: Received) -> bool:
    return "Summarize the older part" in str(request.body.get("system"))


def sums_up(request: Received) -> Turn:
    """A model that keeps what it finds of the facts."""
    found = sorted(set(re.findall(r"FACT-[a-z0-9-]+", str(request.body["messages"]))))
    return Turn(text("Keep: " + ", ".join(found)))


def digger(summary: Script = sums_up) -> Script:
    """Calls `dig` for `TURNS` turns of each message, then answers."""
    numbers = count(1)

    def answer(request: Received) -> Answer:
        if is_summary(request):
            return summary(request)
        number = next(numbers)
        usage = TurnUsage(input_tokens=tokens_of(request))
        if number % TURNS == 0:
            return Turn(text(f"Done with {number}."), usage=usage)
        return Turn(tool_use("dig", {"number": number}, id=f"t{number}"), usage=usage)

    return answer


async def dig(args: AnyArgs, ctx: Any) -> str:
    size = 2_000 + int(args.number or 0) % 7 * 700
    return f"begin {args.number}\n" + "earth and stones " * (size // 17) + f"\nend {args.number}"


@asynccontextmanager
async def digging(settings: Settings, script: Script, most: int) -> AsyncIterator[Office]:
    limited = settings.model_copy(
        update={"context_tokens": BUDGET, "max_iterations": 500, "loop_warn_after": 900}
    )
    async with open_office(limited, *[script] * most) as office:
        office.add(made(dig))
        profile = AgentProfile(id="digger", selection=("dig", "read_result"))
        await office.runtime.agents.create(profile, actor="boss")
        yield office


async def test_two_hundred_turns_stay_within_the_budget_and_keep_what_they_learned(
    settings: Settings,
):
    async with digging(settings, digger(), 400) as office:
        reported = {0: FACTS[0], 1: FACTS[1], 4: FACTS[2]}
        for message in range(10):
            words = f"Remember {reported[message]}, and dig." if message in reported else "Dig on."
            assert (await office.ask(words, agent_id="digger"))["status"] == "success"
        asked = [request for request in office.provider.requests if not is_summary(request)]
        summaries = len(office.provider.requests) - len(asked)
        assert len(asked) == 200
        assert max(map(tokens_of, asked)) <= BUDGET
        assert office.provider.refused == []
        for number, fact in ((20, FACTS[0]), (40, FACTS[1]), (100, FACTS[2])):
            assert all(fact in str(request.body["messages"]) for request in asked[number:])

        compacted = office.watcher.of("context_compacted")
        assert len(compacted) == summaries >= 3
        assert {event["method"] for event in compacted} == {"model"}
        assert all(event["tokens_after"] < event["tokens_before"] for event in compacted)
        path = await office.service.archive.path(office.session.id, office.session.leaf)
        stored = [entry for entry in path if entry.role != "summary"]
        assert len(stored) == 10 + 200 + 190
        assert len(path) - len(stored) == summaries
        whole = "".join(entry.content for entry in stored)
        assert all(f"end {number}" in whole for number in range(1, 200) if number % TURNS)
        assert all(f"begin {number}" in whole for number in range(1, 200) if number % TURNS)


async def test_a_shortened_result_is_read_on_with_the_tool_that_its_note_names(
    settings: Settings,
):
    noted: list[str] = []

    def script(request: Received) -> Answer:
        note = re.search(r"read_result tool_call_id=(t\d+) offset=(\d+)", str(request.messages))
        if note is None or noted:
            return plain(request)
        noted.append(note[1])
        wanted = {"tool_call_id": note[1], "offset": int(note[2])}
        return Turn(tool_use("read_result", wanted, id="reading"))

    plain = digger()
    async with digging(settings, script, 60) as office:
        assert (await office.ask("Dig.", agent_id="digger"))["status"] == "success"
        (read,) = office.watcher.of("tool_call_completed", tool_call_id="reading")
        assert read["status"] == "success"
        assert f"end {noted[0][1:]}" in str(read["content"])


@pytest.mark.parametrize("failure", [http_error(400), Turn(text(" ")), Turn(stop="refusal")])
async def test_a_run_goes_on_when_its_summary_cannot_be_written(settings: Settings, failure: Any):
    async with digging(settings, digger(lambda _: failure), 120) as office:
        for words in (f"Remember {FACTS[0]}.", "On.", "On."):
            assert (await office.ask(words, agent_id="digger"))["status"] == "success"
        compacted = office.watcher.of("context_compacted")
        assert {event["method"] for event in compacted} == {"digest"}
        assert FACTS[0] in str(office.provider.requests[-1].body["messages"])


async def test_a_summary_is_counted_for_its_run(settings: Settings):
    def script(request: Received) -> Answer:
        if is_summary(request):
            return Turn(text("short"), usage=TurnUsage(100_000, 7))
        return plain(request)

    plain = digger()
    async with digging(settings, script, 60) as office:
        ended = [await office.ask("Dig.", agent_id="digger") for _ in range(2)]
        compacted = len(office.watcher.of("context_compacted"))
        counted = sum(event["usage"]["input_tokens"] for event in ended)
        assert compacted >= 1
        assert counted > compacted * 100_000
        assert office.session.usage["input_tokens"] == counted


async def test_a_branch_from_above_a_summary_has_the_whole_conversation(settings: Settings):
    async with digging(settings, digger(), 120) as office:
        for _ in range(2):
            await office.ask("Dig.", agent_id="digger")
        archive, session = office.service.archive, office.session
        path = await archive.path(session.id, session.leaf)
        place = next(at for at, entry in enumerate(path) if entry.role == "summary")
        above = await archive.path(session.id, path[place - 1].id)
        assert len(to_messages(path)) < len(path)
        assert len(to_messages(above)) == place
        assert "summary" not in {entry.role for entry in above}


async def test_a_call_that_waits_for_a_person_is_answered_after_a_compaction(settings: Settings):
    plain = digger()

    def script(request: Received) -> Answer:
        if "sent it" in str(request.messages):
            return Turn(text("Over."))
        if not is_summary(request) and "Send" in request.last_user_text():
            return Turn(tool_use("send", {}, id="waits"), tool_use("dig", {}, id="beside"))
        return plain(request)

    async def send(args: AnyArgs, ctx: Any) -> str:
        return "sent it"

    async with digging(settings, script, 120) as office:
        office.add(made(send, requires_confirmation=True, **WRITES))
        chosen = {"selection": ("dig", "send")}
        await office.runtime.agents.change("digger", chosen, actor="boss")
        for _ in range(2):
            await office.ask("Dig.", agent_id="digger")
        run_id = await office.say("Send", agent_id="digger")
        asked = await office.watcher.until("tool_confirmation_request")
        await office.runtime.confirmations.answer(
            asked["confirmation_id"],
            ConfirmationReply("approve_once", asked["digest"]),
            Approver("ann"),
        )
        assert (await office.ended(run_id))["status"] == "success"
        assert office.watcher.of("context_compacted")
        results = office.provider.requests[-1].tool_results()
        assert set(results) == {"waits", "beside"}
        assert results["waits"]["content"][0]["text"] == "sent it"
        assert office.provider.refused == []


@pytest.mark.parametrize(
    "refusal",
    [
        http_error(400, message="prompt is too long: 210000 tokens > 200000 maximum"),
        http_error(413),
        Turn(text("Half an ans"), stop="model_context_window_exceeded"),
    ],
)
async def test_what_a_provider_finds_too_long_is_shortened_and_asked_once_more(
    settings: Settings, refusal: Any
):
    turns = [Turn(text("One.")), Turn(text("Two.")), refusal, Turn(text("sum")), Turn(text("Ok."))]
    async with open_office(settings, *turns) as office:
        await office.ask("first " + "x" * 3_000)
        await office.ask("second")
        assert (await office.ask("third"))["status"] == "success"
        assert len(office.watcher.of("context_compacted")) == 1
        assert office.watcher.of("message_completed")[-1]["content"] == [
            {"type": "text", "text": "Ok."}
        ]
        assert "third" in office.provider.requests[-1].last_user_text()


async def test_a_provider_that_finds_everything_too_long_is_asked_no_third_time(
    settings: Settings,
):
    refusal = http_error(400, message="prompt is too long")
    turns = [Turn(text("One.")), refusal, Turn(text("sum")), refusal, Turn(text("never"))]
    async with open_office(settings, *turns) as office:
        await office.ask("first")
        ended = await office.ask("second")
        assert (ended["status"], ended["error"]["code"]) == ("error", "model_failed")
        assert office.provider.remaining == 1


async def test_a_message_that_cannot_fit_ends_the_run_with_what_to_do(settings: Settings):
    small = settings.model_copy(update={"context_tokens": 4_000})
    async with open_office(small, Turn(text("never"))) as office:
        ended = await office.ask("x" * 100_000)
        assert (ended["status"], ended["error"]["code"]) == ("error", "context_full")
        assert "TOLLGATE_CONTEXT_TOKENS" in ended["error"]["message"]
        assert office.provider.requests == []
