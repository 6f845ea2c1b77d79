"""What runs have used: told at their end, and summed up for operators."""

from __future__ import annotations

import orjson
import pytest

from app.agents.budget import Spending
from app.agents.models.protocol import TokenUsage
from app.agents.usage import UsageReader
from app.bootstrap.agents import budget_of
from app.config.sections import ModelPrice
from app.config.settings import Settings
from app.domain.history import STORED_RESULTS, ResultReader, StoredResults
from app.governance.agents import AgentProfile
from tests.agents.office import open_office
from tests.support.scripted_anthropic.turns import Turn, TurnUsage, text, tool_use

PRICE = ModelPrice(input=2, output=10, cache_read=0, cache_creation=0)


def priced(settings: Settings) -> Settings:
    return settings.model_copy(update={"model_prices": {settings.model: PRICE}})


def said(input_tokens: int, output_tokens: int) -> Turn:
    return Turn(text("a"), usage=TurnUsage(input_tokens, output_tokens))


async def test_a_run_ends_with_its_tokens_and_its_cost(settings: Settings):
    async with open_office(priced(settings), said(1_000, 100)) as office:
        ended = await office.ask()
        assert ended["usage"]["cost"] == pytest.approx(0.003)
        (row,) = await office.service.archive.runs(office.session.id)
        assert orjson.loads(row.usage) == {**ended["usage"]}


async def test_a_run_whose_model_has_no_price_tells_no_cost(settings: Settings):
    async with open_office(settings, said(1_000, 100)) as office:
        ended = await office.ask()
        assert "cost" not in ended["usage"]
        assert ended["usage"]["input_tokens"] == 1_000


async def test_sums_by_agent_model_session_and_day(settings: Settings):
    turns = [said(1_000, 0), said(2_000, 0), said(500, 0)]
    async with open_office(priced(settings), *turns) as office:
        cheap = AgentProfile(id="writer", model="no-price")
        await office.runtime.agents.create(cheap, actor="boss")
        first, _ = await office.ask(), await office.ask()
        await office.ask(agent_id="writer")
        await office.runtime.db.flush()
        usage = UsageReader(office.service.database)
        agents = dict((await usage.sums("agent")).groups)
        assert set(agents) == {"default", "writer"}
        assert (agents["default"].runs, agents["default"].input_tokens) == (2, 3_000)
        assert agents["default"].cost == pytest.approx(0.006)
        assert (agents["writer"].cost, agents["writer"].unpriced_tokens) == (0, 500)
        models = await usage.sums("model", agent_id="writer")
        assert [key for key, _ in models.groups] == ["no-price"]
        sessions = await usage.sums("session", session_id=office.session.id)
        assert [key for key, _ in sessions.groups] == [office.session.id]
        assert sessions.total.input_tokens == 3_500
        days = await usage.sums("day", agent_id="default")
        assert [key for key, _ in days.groups] == [first["ts"][:10]]
        assert (await usage.sums("day", until="2000-01-01T00:00:00.000Z")).groups == []


async def test_the_budget_counts_for_a_session_and_for_whoever_asked(settings: Settings):
    async with open_office(priced(settings)) as office:
        budget = budget_of(office.runtime)
        mine, other = Spending(), Spending()
        budget.add(office.session, model=settings.model, usage=TokenUsage(1_000, 0), spending=mine)
        budget.add(office.session, model="unknown", usage=TokenUsage(10, 0), spending=other)
        assert mine.fields()["cost"] == pytest.approx(0.002)
        assert Spending.of(mine.fields()) == mine
        assert (other.cost, Spending.of(other.fields())) == (None, other)
        assert office.session.usage["input_tokens"] == 1_010


async def test_a_sub_agent_reads_results_of_its_own_calls_only(settings: Settings):
    turns = [Turn(tool_use("calculator", {"expression": "6*7"}, id="sum")), said(1, 1)]
    async with open_office(settings, *turns) as office:
        run_id = (await office.ask())["run_id"]
        stored = office.runtime.services.require(STORED_RESULTS, StoredResults)  # type: ignore[type-abstract]
        session_id = office.session.id
        found = await stored.find(ResultReader(session_id, run_id), "sum")
        assert found is not None
        assert "42" in found.text
        add = (
            "INSERT INTO runs (id, session_id, trigger, status, started_at)"
            " VALUES ('run_sub', ?, 'delegation', 'running', '2026')"
        )
        await office.runtime.db.transact(lambda t: t.execute(add, (session_id,)))
        assert await stored.find(ResultReader(session_id, "run_sub"), "sum") is None
        assert await stored.newest(ResultReader(session_id, "run_sub"), limit=9) == []
        assert await stored.find(ResultReader("ses_other", run_id), "sum") is None
