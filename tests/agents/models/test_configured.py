"""A service whose models come from its settings: whole runs, over the wire of each provider."""

from __future__ import annotations

import importlib.util
from collections.abc import AsyncIterator
from typing import Any

import pytest
from pydantic import SecretStr

from app.bootstrap.models import model_client
from app.bootstrap.service import open_service
from app.config.secret_values import secret_values
from app.config.sections import LimitSettings, ModelPrice
from app.config.settings import Settings, load_settings
from app.core.errors import ConfigurationError, ModelFailed
from tests.agents.models.exchange import ASK, KEY, answer, ask
from tests.agents.office import Office, settle
from tests.execution.lab import AnyArgs, made
from tests.support.scripted_anthropic.server import ScriptedAnthropic
from tests.support.scripted_anthropic.turns import Turn, TurnUsage, http_error, text, tool_use
from tests.support.scripted_openai.server import ScriptedOpenAI


@pytest.fixture
async def claude() -> AsyncIterator[ScriptedAnthropic]:
    async with ScriptedAnthropic(api_key=KEY) as provider:
        yield provider


@pytest.fixture
async def chat() -> AsyncIterator[ScriptedOpenAI]:
    async with ScriptedOpenAI(api_key=KEY) as provider:
        yield provider


def both(
    settings: Settings, claude: ScriptedAnthropic, chat: ScriptedOpenAI, **more: Any
) -> Settings:
    """Settings with both providers and no patience."""
    return settings.model_copy(
        update={
            "anthropic_api_key": SecretStr(KEY),
            "anthropic_base_url": claude.base_url,
            "openai_api_key": SecretStr(KEY),
            "openai_base_url": chat.base_url,
            "model_retries": 0,
            **more,
        }
    )


async def echo(args: AnyArgs, ctx: Any) -> str:
    return f"echo {args.text}"


async def test_a_run_with_a_tool_call_over_chat_completions(
    settings: Settings, claude: ScriptedAnthropic, chat: ScriptedOpenAI
) -> None:
    chat.script(
        Turn(text("I echo."), tool_use("echo", {"text": "hi"}), tool_use("echo", raw="{text: no}")),
        Turn(text("Done.")),
    )
    chosen = both(settings, claude, chat, model="gpt-test", model_provider="openai")

    async with open_service(chosen) as service:
        office: Office = settle(service, chat)
        office.add(made(echo))
        ended = await office.ask("echo hi")

    assert (ended["status"], ended["usage"]["output_tokens"]) == ("success", 30)
    assert (claude.requests, chat.refused) == ([], [])
    first, second = chat.requests
    assert (first.api_key, first.body["model"]) == (KEY, "gpt-test")
    assert "read_file" in first.tool_names
    results = [message["content"] for message in second.tool_results().values()]
    assert results[0] == "echo hi"
    assert "JSON" in results[1]


async def test_a_session_names_the_provider_of_its_model(
    settings: Settings, claude: ScriptedAnthropic, chat: ScriptedOpenAI
) -> None:
    claude.script(Turn(text("I am Claude.")))
    chat.script(Turn(text("I am not.")))

    async with open_service(both(settings, claude, chat)) as service:
        ours = await settle(service, claude).ask("who?")
        theirs = await settle(service, chat, model="openai:gpt-test").ask("who?")

    assert [ours["status"], theirs["status"]] == ["success", "success"]
    assert chat.requests[0].body["model"] == "gpt-test"


async def test_a_run_goes_on_with_another_provider_when_the_first_is_overloaded(
    settings: Settings, claude: ScriptedAnthropic, chat: ScriptedOpenAI
) -> None:
    claude.script(Turn(tool_use("echo", {"text": "hi"})), http_error(529), Turn(text("Again me.")))
    chat.script(Turn(tool_use("echo", {"text": "ho"}, id="functions.echo:0")))
    chosen = both(settings, claude, chat, model_fallbacks=["openai:gpt-test"])

    async with open_service(chosen) as service:
        office = settle(service, claude)
        office.add(made(echo))
        ended = await office.ask("echo hi")

    assert ended["status"] == "success"
    assert (claude.refused, chat.refused) == ([], [])
    assert [result["content"] for result in chat.requests[0].tool_results().values()] == ["echo hi"]
    [result] = claude.requests[-1].tool_results().values()
    assert result["content"] == [{"type": "text", "text": "echo ho"}]


async def test_an_answer_costs_what_the_model_costs_that_gave_it(
    settings: Settings, claude: ScriptedAnthropic, chat: ScriptedOpenAI
) -> None:
    claude.script(http_error(529))
    chat.script(Turn(text("me"), usage=TurnUsage(1_000_000, 0)))
    prices = {
        "claude-test": ModelPrice(input=1, output=0),
        "openai:gpt-test": ModelPrice(input=7, output=0),
    }
    chosen = both(
        *(settings, claude, chat),
        model="claude-test",
        model_fallbacks=["openai:gpt-test"],
        model_prices=prices,
    )

    async with open_service(chosen) as service:
        office = settle(service, claude)
        await office.ask()

        assert office.session.usage["cost"] == 7


async def test_a_fallback_without_a_price_is_no_way_around_a_limit_of_money(
    settings: Settings, claude: ScriptedAnthropic, chat: ScriptedOpenAI
) -> None:
    chosen = both(
        *(settings, claude, chat),
        model="claude-test",
        model_fallbacks=["openai:gpt-test"],
        model_prices={"claude-test": ModelPrice(input=1, output=0)},
        limits=LimitSettings(cost_per_session=1),
    )

    async with open_service(chosen) as service:
        ended = await settle(service, claude).ask()

    assert ended["error"]["code"] == "configuration"
    assert "openai:gpt-test" in ended["error"]["message"]
    assert (claude.requests, chat.requests) == ([], [])


async def test_the_answer_says_which_model_gave_it(
    settings: Settings, claude: ScriptedAnthropic, chat: ScriptedOpenAI
) -> None:
    claude.script(http_error(529))
    chat.script(Turn(text("me")))
    client = model_client(both(settings, claude, chat, model_fallbacks=["openai:gpt-test"]))

    completed = await answer(client)
    await client.aclose()

    assert (completed.asked, completed.model) == ("openai:gpt-test", "gpt-test")


async def test_a_model_of_the_settings_needs_its_package_at_the_start(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    known = settings.model_copy(update={"openai_api_key": SecretStr(KEY)})

    model_client(known)
    for named in ({"model": "openai:gpt-5"}, {"model_fallbacks": ["openai:gpt-5"]}):
        with pytest.raises(ConfigurationError, match="requires the package"):
            model_client(known.model_copy(update=named))


async def test_without_a_key_each_provider_names_its_own(settings: Settings) -> None:
    client = model_client(settings)

    with pytest.raises(ModelFailed, match="set ANTHROPIC_API_KEY"):
        await ask(client)
    client = model_client(settings.model_copy(update={"model_provider": "openai"}))
    with pytest.raises(ModelFailed, match="set OPENAI_API_KEY"):
        await ask(client, ASK)


@pytest.fixture
def bare(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """No file and no variable that settings are read from."""
    monkeypatch.chdir(tmp_path)
    for provider in ("OPENAI", "ANTHROPIC"):
        for name in ("API_KEY", "BASE_URL"):
            monkeypatch.delenv(f"{provider}_{name}", raising=False)
    return monkeypatch


def test_the_environment_chooses_provider_and_fallbacks(bare: pytest.MonkeyPatch) -> None:
    bare.setenv("TOLLGATE_MODEL_PROVIDER", "openai")
    bare.setenv("TOLLGATE_MODEL", "gpt-5")
    bare.setenv("TOLLGATE_MODEL_FALLBACKS", "gpt-5-mini, anthropic:claude-test,")
    bare.setenv("OPENAI_API_KEY", KEY)

    settings = load_settings()

    assert settings.model_fallbacks == ["gpt-5-mini", "anthropic:claude-test"]
    assert settings.has_model
    assert settings.model_key_setting == "OPENAI_API_KEY"
    assert KEY in secret_values(settings)
    assert KEY not in repr(settings)


def test_a_server_without_a_key_is_enough(bare: pytest.MonkeyPatch) -> None:
    bare.setenv("OPENAI_API_KEY", "")
    bare.setenv("OPENAI_BASE_URL", "http://127.0.0.1:11434/v1")

    settings = load_settings(model="openai:llama3:8b")

    assert settings.openai_api_key is None
    assert settings.has_model
    assert not load_settings(model="claude-test").has_model


def test_another_provider_needs_a_model_of_its_own(bare: pytest.MonkeyPatch) -> None:
    bare.setenv("TOLLGATE_MODEL_PROVIDER", "openai")

    with pytest.raises(ConfigurationError, match="set model to one of its models"):
        load_settings()


def test_a_hook_cannot_have_the_keys(bare: pytest.MonkeyPatch) -> None:
    hook = {"name": "h", "event": "pre_tool_use", "command": "true", "env": ["OPENAI_API_KEY"]}

    with pytest.raises(ConfigurationError, match="OPENAI_API_KEY"):
        load_settings(hooks=[hook])
