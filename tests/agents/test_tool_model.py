"""A plugin asks the model through the service `llm_client`: governed, and counted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from app.config.sections import LimitSettings, ModelPrice
from app.config.settings import Settings
from app.core.errors import ToolFailed
from app.execution.calls import CallRequest
from app.governance.limits import Limits, QuotaSubject
from app.toolkit.context import ToolContext
from app.toolkit.ports import LLM_CLIENT, LlmClient
from tests.agents.delegation.conftest import no_processes
from tests.agents.office import open_office
from tests.execution.lab import open_lab
from tests.support.scripted_anthropic.turns import Turn, TurnUsage, text, tool_use

__all__ = ["no_processes"]

PLUGIN = """
from app.catalog.seed_api import get_service, register, register_service
from app.toolkit.ports import LLM_CLIENT, LlmClient

register_service("greeting", "Good day")

def in_a_thread(arguments):
    client = get_service("llm_client")
    if client is None:
        return {"success": False, "error": "LLM client not available"}
    return client.ask(arguments["prompt"], system=get_service("greeting"))["text"]

async def on_the_loop(arguments, ctx):
    client = ctx.services.require(LLM_CLIENT, LlmClient)
    answer = await client.complete(arguments["prompt"], ctx, max_tokens=50)
    return {"text": answer["text"], "model": answer["model"], "tokens": answer["output_tokens"]}

async def wrongly(arguments):
    return get_service("llm_client").ask("stop the loop")

SCHEMA = {"properties": {"prompt": {"type": "string"}}}
SAFE = {"requires": ("llm_client",)}
register("summarise", in_a_thread, "Summarises.", SCHEMA)
register("translate", on_the_loop, "Translates.", SCHEMA, pass_context=True, **SAFE)
register("wrong", wrongly, "Asks on the loop.", SCHEMA)
"""
USED = TurnUsage(input_tokens=1000, output_tokens=100)


@pytest.fixture
def settings(settings: Settings) -> Settings:
    settings.plugins_dir.mkdir(parents=True)
    Path(settings.plugins_dir / "llm.py").write_text(PLUGIN)
    prices = {settings.model: ModelPrice(input=3, output=15)}
    return settings.model_copy(update={"model_prices": prices})


def said(words: str) -> Turn:
    return Turn(text(words), usage=USED)


def called(name: str, **arguments: Any) -> Turn:
    return Turn(tool_use(name, arguments), usage=USED)


@pytest.mark.requirement("REG-29")
async def test_a_sync_handler_asks_the_model_and_its_run_pays(settings: Settings):
    turns = (called("summarise", prompt="the text"), said("in short"), said("Done."))
    async with open_office(settings, *turns) as office:
        finished = await office.ask()
        (completed,) = office.watcher.of("tool_call_completed")
        asked = await office.provider.received(2)
        session_usage = dict(office.session.usage)
    assert completed["content"][0]["text"] == "in short"
    assert asked.body["messages"][0]["content"][0]["text"] == "the text"
    assert asked.body["system"][0]["text"] == "Good day"
    assert "tools" not in asked.body
    # The two turns of the agent, and the question of its tool.
    assert finished["usage"]["input_tokens"] == session_usage["input_tokens"] == 3000
    assert finished["usage"]["cost"] == pytest.approx(3 * (1000 * 3 + 100 * 15) / 1_000_000)


@pytest.mark.requirement("REG-29")
async def test_an_async_handler_asks_with_its_context_in_a_direct_call(settings: Settings):
    async with open_office(settings, said("bonjour")) as office:
        finished = await office.call(CallRequest("c1", "translate", {"prompt": "hello"}))
        (completed,) = office.watcher.of("tool_call_completed")
        await office.runtime.db.flush()
        row = await office.service.archive.session_row(office.session.id)
    assert orjson.loads(completed["content"][0]["text"]) == {
        "text": "bonjour",
        "model": settings.model,
        "tokens": 100,
    }
    assert finished["usage"]["output_tokens"] == 100
    assert row is not None
    assert orjson.loads(row.usage)["output_tokens"] == 100


async def test_a_session_without_budget_asks_nothing(settings: Settings):
    limited = settings.model_copy(update={"limits": LimitSettings(tokens_per_session=1)})
    async with open_office(limited, said("one")) as office:
        await office.ask()
        await office.call(CallRequest("c1", "summarise", {"prompt": "x"}))
        (completed,) = office.watcher.of("tool_call_completed")
    assert completed["status"] == "error"
    assert "tokens" in completed["error"]["message"]


@pytest.mark.requirement("REG-29")
async def test_without_a_service_the_tool_fails_cleanly_and_is_off_where_it_says_so(
    settings: Settings,
):
    async with open_lab(settings) as lab:
        outcome = await lab.call("summarise", prompt="x")
        off = lab.runtime.resolver.resolve().disabled_reasons["translate"]
    assert (outcome.status, outcome.result.error) == ("error", "LLM client not available")
    assert off.code == "missing_config"


async def test_the_loop_is_not_stopped_by_a_sync_question(settings: Settings):
    async with open_office(settings) as office:
        await office.call(CallRequest("c1", "wrong", {}))
        (completed,) = office.watcher.of("tool_call_completed")
    assert "complete()" in completed["error"]["message"]


def delegated() -> Turn:
    return called("delegate_task", goal="Summarise the text", label="short")


@pytest.mark.requirement("REG-29")
@pytest.mark.usefixtures("no_processes")
async def test_what_a_sub_agents_tool_asks_is_counted_for_the_sub_agent(settings: Settings):
    asks, answers = called("summarise", prompt="x"), said("in short")
    turns = (delegated(), asks, answers, said("The summary."), said("Done."))
    async with open_office(settings, *turns) as office:
        await office.ask()
        (task,) = office.watcher.of("subagent_finished")
        used = dict(office.session.usage)
    # Its two turns and the question of its tool; two more turns are the agent's.
    assert task["usage"]["input_tokens"] == 3000
    assert used["input_tokens"] == 5000


@pytest.mark.usefixtures("no_processes")
async def test_the_tools_of_a_sub_agent_are_held_to_the_limits_of_its_token(settings: Settings):
    quota_subject = QuotaSubject(token_id="tok_1", limits=Limits(tokens_per_session=2000))
    asks = called("summarise", prompt="x")
    async with open_office(settings, delegated(), asks, said("in short")) as office:
        await office.ask(quota_subject=quota_subject)
        done = office.watcher.of("tool_call_completed")
        asked = len(office.provider.requests)
    (refused,) = [event for event in done if event["tool_name"] == "summarise"]
    assert "2000 tokens" in refused["error"]["message"]
    assert asked == 2


async def test_the_context_of_a_run_that_is_over_asks_nothing(settings: Settings):
    async with open_office(settings, said("one")) as office:
        finished = await office.ask()
        client = office.runtime.services.require(LLM_CLIENT, LlmClient)  # type: ignore[type-abstract]
        ended = ToolContext(
            tool_call_id="c1",
            operation_id="op_1",
            session_id=office.session.id,
            run_id=finished["run_id"],
        )
        with pytest.raises(ToolFailed, match="during a tool call") as caught:
            await client.complete("after the end", ended)
    assert caught.value.details["code"] == "no_call"


@pytest.mark.parametrize("wrong", [{"max_tokens": 0}, {"temperature": 3}])
async def test_an_argument_that_is_out_of_range_is_named(settings: Settings, wrong: dict[str, Any]):
    plugin = PLUGIN.replace("max_tokens=50", ", ".join(f"{key}={v}" for key, v in wrong.items()))
    (settings.plugins_dir / "llm.py").write_text(plugin)
    async with open_office(settings) as office:
        await office.call(CallRequest("c1", "translate", {"prompt": "hello"}))
        (completed,) = office.watcher.of("tool_call_completed")
    (name,) = wrong
    assert name in completed["error"]["message"]
