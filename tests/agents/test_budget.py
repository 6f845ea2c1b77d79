"""What a session may use of a model: counted with it, checked before every request."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from app.agents.budget import cost_of
from app.agents.models.protocol import TokenUsage
from app.config.sections import LimitSettings, ModelPrice
from app.config.settings import Settings
from app.governance.agents import AgentProfile
from app.governance.limits import Limits, QuotaSubject
from tests.agents.office import Office, open_office
from tests.execution.lab import AnyArgs, made
from tests.support.scripted_anthropic.turns import Turn, TurnUsage, text, tool_use

USED = TurnUsage(input_tokens=1000, output_tokens=100)
COST = (1000 * 3 + 100 * 15) / 1_000_000


async def echo(args: AnyArgs, ctx: Any) -> str:
    return args.text


def limited(settings: Settings, **limits: Any) -> Settings:
    prices = {settings.model: ModelPrice(input=3, output=15)}
    return settings.model_copy(update={"limits": LimitSettings(**limits), "model_prices": prices})


def answer(count: int = 1) -> list[Turn]:
    return [Turn(text("Done."), usage=USED) for _ in range(count)]


async def stored(office: Office) -> dict[str, Any]:
    await office.runtime.db.flush()
    row = await office.service.archive.session_row(office.session.id)
    assert row is not None
    usage: dict[str, Any] = orjson.loads(row.usage)
    return usage


async def test_a_session_s_usage_is_summed_up_and_stored_with_its_cost(settings: Settings):
    async with open_office(limited(settings), *answer(2)) as office:
        await office.ask()
        await office.ask()
        assert await stored(office) == pytest.approx(
            {
                "input_tokens": 2000,
                "output_tokens": 200,
                "cache_read_tokens": 0,
                "cache_creation_tokens": 0,
                "cost": 2 * COST,
            }
        )


async def test_a_price_of_nothing_is_a_price(settings: Settings):
    free = {settings.model: ModelPrice(input=0, output=0)}
    async with open_office(settings.model_copy(update={"model_prices": free}), *answer()) as office:
        ended = await office.ask()
    assert ended["usage"]["cost"] == 0


async def test_a_model_without_a_price_has_no_cost(settings: Settings):
    async with open_office(settings, *answer()) as office:
        ended = await office.ask()
    assert "cost" not in ended["usage"]


async def test_the_next_request_is_not_made_and_no_turn_is_left_half_done(settings: Settings):
    turns = [Turn(tool_use("echo", {"text": "a"}, id="t1"), usage=USED), *answer()]
    async with open_office(limited(settings, tokens_per_session=1100), *turns) as office:
        office.add(made(echo))
        ended = await office.ask()
        roles = [event["role"] for event in office.watcher.of("message_completed")]
        rows = await office.service.archive.calls(office.session.id)
        again = await office.ask()
        assert len(office.provider.requests) == 1
    assert (ended["status"], ended["error"]["code"]) == ("error", "budget_exceeded")
    assert ended["error"]["details"] == {"budget": "token_budget", "limit": 1100, "used": 1100}
    assert (roles, [row.status for row in rows]) == (["user", "assistant", "tool"], ["success"])
    assert again["error"]["code"] == "budget_exceeded"


async def test_the_sum_survives_a_restart(settings: Settings):
    tight = limited(settings, cost_per_session=COST)
    async with open_office(tight, *answer()) as office:
        assert (await office.ask())["status"] == "success"
        session_id = office.session.id
    async with open_office(tight, *answer()) as office:
        session = await office.service.sessions.get(session_id)
        assert session is not None
        office.session, office.watcher = session, office.watch(session)
        ended = await office.ask()
        assert office.provider.requests == []
    assert ended["error"]["details"]["budget"] == "cost_budget"


@pytest.mark.parametrize(
    ("limits", "quota_subject"),
    [
        (Limits(tokens_per_session=10), QuotaSubject()),
        (Limits(), QuotaSubject("tok_1", Limits(tokens_per_session=10))),
        (Limits(tokens_per_session=5000), QuotaSubject("tok_1", Limits(tokens_per_session=10))),
    ],
    ids=["the agent's", "the token's", "the tighter one"],
)
async def test_agent_and_token_limit_a_session_too(
    settings: Settings, limits: Limits, quota_subject: QuotaSubject
):
    async with open_office(settings, *answer(2)) as office:
        await office.runtime.agents.create(AgentProfile(id="coder", limits=limits), actor="admin")
        first = await office.ask(agent_id="coder", quota_subject=quota_subject)
        second = await office.ask(agent_id="coder", quota_subject=quota_subject)
    assert first["status"] == "success"
    assert second["error"]["code"] == "budget_exceeded"


async def test_a_cost_limit_without_a_price_asks_nobody(settings: Settings):
    free = settings.model_copy(update={"limits": LimitSettings(cost_per_session=1)})
    async with open_office(free, *answer()) as office:
        ended = await office.ask()
        assert office.provider.requests == []
    assert (ended["status"], ended["error"]["code"]) == ("error", "configuration")
    assert "model_prices" in ended["error"]["message"]


async def test_calls_of_a_run_are_counted_for_whoever_asked(settings: Settings):
    calls = [tool_use("echo", {"text": str(n)}, id=f"t{n}") for n in range(3)]
    quota_subject = QuotaSubject("tok_1", Limits(calls_per_run=2))
    async with open_office(settings, Turn(*calls), *answer()) as office:
        office.add(made(echo))
        ended = await office.ask(quota_subject=quota_subject)
        codes = sorted(
            event["error"]["code"] if "error" in event else "none"
            for event in office.watcher.of("tool_call_completed")
        )
        reported = str(await office.seen_by_model(2))
        assert office.runtime.limits.store.usage() == []
    assert (ended["status"], codes) == ("success", ["calls_per_run", "none", "none"])
    assert "finish with the results you have" in reported


def test_every_kind_of_token_has_its_price():
    price = ModelPrice(input=1, output=2, cache_read=3, cache_creation=4)
    assert cost_of(TokenUsage(1_000_000, 1_000_000, 1_000_000, 1_000_000), price) == 10
