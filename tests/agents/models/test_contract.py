"""What both providers must do alike: the same script, the same events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import asdict, dataclass, replace
from typing import Any

import pytest

from app.agents.models.anthropic import AnthropicModel, AnthropicSettings
from app.agents.models.openai import OpenAIModel, OpenAISettings
from app.agents.models.protocol import (
    Completed,
    ModelClient,
    ModelRequest,
    ModelTextDelta,
    ModelThinkingDelta,
    ModelToolInputDelta,
    TokenUsage,
)
from tests.agents.models.exchange import ASK, KEY, Waits, answer, ask, failure
from tests.support.scripted_anthropic.server import ScriptedAnthropic
from tests.support.scripted_anthropic.turns import (
    Gate,
    RawData,
    ScriptItem,
    Step,
    Turn,
    TurnUsage,
    cut,
    http_error,
    stream_error,
    text,
    thinking,
    tool_use,
)
from tests.support.scripted_openai.server import ScriptedOpenAI

IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBO"}}
TOOLS = [{"name": "bash", "description": "Run.", "input_schema": {"type": "object"}}]


@dataclass
class Side:
    """One provider's server and client."""

    provider: ScriptedAnthropic
    model: ModelClient
    waits: Waits


@pytest.fixture(params=["anthropic", "openai"])
async def side(request: pytest.FixtureRequest) -> AsyncIterator[Side]:
    waits = Waits()
    server = ScriptedOpenAI if request.param == "openai" else ScriptedAnthropic
    async with server(api_key=KEY) as provider:
        model = _model(request.param, provider.base_url, waits)
        try:
            yield Side(provider, model, waits)
        finally:
            await model.aclose()


def _model(provider: str, base_url: str, waits: Waits) -> AnthropicModel | OpenAIModel:
    if provider == "openai":
        return OpenAIModel(OpenAISettings(api_key=KEY, base_url=base_url), sleep=waits)
    return AnthropicModel(AnthropicSettings(api_key=KEY, base_url=base_url), sleep=waits)


async def test_the_same_script_gives_the_same_events(side: Side) -> None:
    side.provider.script(
        Turn(
            thinking("let me", ""),
            text("I'll ", "run."),
            tool_use("bash", raw=['{"comm', 'and": "ls"}'], id="call_A"),
            tool_use("today", id="call_B"),
            usage=TurnUsage(25, 65, 7),
        )
    )

    events = await ask(side.model)

    assert events == [
        ModelThinkingDelta(0, "let me"),
        ModelTextDelta(1, "I'll "),
        ModelTextDelta(1, "run."),
        ModelToolInputDelta(2, "call_A", "bash", ""),
        ModelToolInputDelta(2, "call_A", "bash", '{"comm'),
        ModelToolInputDelta(2, "call_A", "bash", 'and": "ls"}'),
        ModelToolInputDelta(3, "call_B", "today", ""),
        Completed(
            content=[
                {"type": "thinking", "thinking": "let me", "signature": ""},
                {"type": "text", "text": "I'll run."},
                {"type": "tool_use", "id": "call_A", "name": "bash", "input": {"command": "ls"}},
                {"type": "tool_use", "id": "call_B", "name": "today", "input": {}},
            ],
            stop_reason="tool_use",
            usage=TokenUsage(25, 65, 7),
            model="claude-test",
            request_id="req_0001",
        ),
    ]


async def test_a_conversation_with_calls_results_and_images_goes_on(side: Side) -> None:
    side.provider.script(
        Turn(thinking("hm"), tool_use("bash", raw="{command: ls}", id="call_A"), tool_use("a b")),
        Turn(text("done")),
    )
    first = await answer(side.model)
    other = first.content[-1]["id"]
    results = [
        {"type": "tool_result", "tool_use_id": "call_A", "content": "broken", "is_error": True},
        {"type": "tool_result", "tool_use_id": other, "content": [IMAGE], "is_error": False},
        {"type": "text", "text": "and this"},
        IMAGE,
    ]
    messages = [
        *ASK.messages,
        {"role": "assistant", "content": first.content},
        {"role": "user", "content": results},
    ]

    second = await answer(
        side.model, replace(ASK, messages=messages, system="Be brief.", tools=TOOLS)
    )

    assert first.content[-2]["raw_input"] == "{command: ls}"
    assert second.content == [{"type": "text", "text": "done"}]
    assert side.provider.refused == []
    assert set(side.provider.requests[1].tool_results()) == {"call_A", other}


@pytest.mark.parametrize("reason", ["max_tokens", "refusal"])
async def test_calls_of_a_turn_that_was_stopped_are_dropped(side: Side, reason: str) -> None:
    side.provider.script(
        Turn(
            text("I write."),
            tool_use("write", raw='{"path": "a", "text": "unfini', id="call_B", closed=False),
            stop=reason,
        )
    )

    completed = await answer(side.model)

    assert (completed.stop_reason, completed.content) == (
        reason,
        [{"type": "text", "text": "I write."}],
    )
    assert [call["raw_input"] for call in completed.dropped_tool_uses] == [
        '{"path": "a", "text": "unfini'
    ]


async def test_tools_that_must_not_be_called_stay_named(side: Side) -> None:
    side.provider.script(Turn(text("done")))

    await answer(side.model, replace(ASK, tools=TOOLS, answer_only=True))

    received = side.provider.requests[0]
    assert received.tool_names == ["bash"]
    assert received.body["tool_choice"] in ("none", {"type": "none"})


async def test_characters_split_between_chunks_arrive_whole(side: Side) -> None:
    side.provider.script(Turn(text("你好 🎈"), tool_use("say", {"words": "再见"}), chunk_bytes=1))

    completed = await answer(side.model)

    assert completed.content[0] == {"type": "text", "text": "你好 🎈"}
    assert completed.content[1]["input"] == {"words": "再见"}


BEFORE_THE_FIRST_DELTA: dict[str, ScriptItem] = {
    "overloaded, first event": stream_error(),
    "overloaded, after the start": Turn(stream_error()),
    "cut": Turn(cut()),
    "torn": Turn(cut(abrupt=True)),
    "malformed": Turn(RawData("content_block_start", "{")),
    "429": http_error(429),
    "500": http_error(500),
    "503": http_error(503),
    "refused, but asked to retry": http_error(400, should_retry=True),
}


@pytest.mark.parametrize("case", BEFORE_THE_FIRST_DELTA)
async def test_a_passing_failure_before_the_first_delta_is_repeated(side: Side, case: str) -> None:
    side.provider.script(BEFORE_THE_FIRST_DELTA[case], Turn(text("better")))

    events = await ask(side.model)

    assert events[0] == ModelTextDelta(0, "better")
    assert [0.25 <= seconds <= 0.5 for seconds in side.waits.seconds] == [True]


AFTER_THE_FIRST_DELTA: dict[str, tuple[Step, str]] = {
    "overloaded": (stream_error(), "overloaded_error"),
    "cut": (cut(), "stream_cut"),
    "torn": (cut(abrupt=True), "stream_cut"),
    "malformed": (RawData("content_block_delta", "{"), "malformed_stream"),
}


@pytest.mark.parametrize("case", AFTER_THE_FIRST_DELTA)
async def test_a_failure_after_the_first_delta_is_never_repeated(side: Side, case: str) -> None:
    step, code = AFTER_THE_FIRST_DELTA[case]
    side.provider.script(Turn(text("par", step)), Turn(text("never asked for")))

    seen, failed = await failure(side.model)

    assert seen == [ModelTextDelta(0, "par")]
    assert failed.details == {
        "provider_code": code,
        "status": 200,
        "retryable": True,
        "request_id": "req_0001",
    }
    assert (side.provider.remaining, side.waits.seconds) == (1, [])


async def test_retries_end_and_a_long_retry_after_ends_them_at_once(side: Side) -> None:
    side.provider.script(http_error(429, retry_after=7), *[http_error(503)] * 2)

    seen, failed = await failure(side.model)

    assert (seen, len(side.provider.requests), side.waits.seconds[0]) == ([], 3, 7.0)
    assert failed.details["retryable"] is True

    side.provider.script(http_error(429, retry_after=3600), Turn(text("never")))

    _, failed = await failure(side.model)

    assert (failed.details["retry_after_ms"], side.provider.remaining) == (3_600_000, 1)


async def test_a_lasting_failure_is_not_repeated_and_shows_no_key(side: Side) -> None:
    side.provider.script(http_error(401, message=f"because of {KEY}"), Turn(text("never")))

    _, failed = await failure(side.model)

    assert failed.details["provider_code"] == "authentication_error"
    assert "because of [redacted]" in str(failed)
    assert "_API_KEY" in str(failed)
    assert side.provider.remaining == 1


async def test_cancelling_the_consumer_closes_the_stream(side: Side) -> None:
    gate = Gate()
    side.provider.script(Turn(text("par", gate)), Turn(text("next")))

    async with asyncio.timeout(60):
        consumer = asyncio.create_task(ask(side.model))
        received = await side.provider.received()
        await gate.reached.wait()
        consumer.cancel()
        with pytest.raises(asyncio.CancelledError):
            await consumer
        await received.closed_by_client.wait()

    assert (await answer(side.model)).content == [{"type": "text", "text": "next"}]


async def test_leaving_the_generator_early_closes_the_stream(side: Side) -> None:
    gate = Gate()
    side.provider.script(Turn(text("par", gate)))

    async with asyncio.timeout(60):
        async with aclosing(side.model.stream(ASK)) as events:
            assert await anext(events) == ModelTextDelta(0, "par")
        await side.provider.requests[0].closed_by_client.wait()


async def test_requests_at_the_same_time_do_not_mix(side: Side) -> None:
    def echo(received: Any) -> Turn:
        return Turn(text(received.last_user_text()))

    side.provider.script(*[echo] * 8)
    requests = [
        ModelRequest(
            model="claude-test", max_tokens=100, messages=[{"role": "user", "content": f"n{n}"}]
        )
        for n in range(8)
    ]

    answers = await asyncio.gather(*(answer(side.model, request) for request in requests))

    assert [item.content[0]["text"] for item in answers] == [f"n{n}" for n in range(8)]


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
async def test_silence_longer_than_the_timeout_fails(provider: str) -> None:
    gate = Gate()
    server = ScriptedOpenAI if provider == "openai" else ScriptedAnthropic
    limits: dict[str, Any] = {"api_key": KEY, "max_retries": 0, "timeout": 0.2}
    async with server(Turn(text("par", gate))) as silent:
        limits["base_url"] = silent.base_url
        model: ModelClient = (
            OpenAIModel(OpenAISettings(**limits))
            if provider == "openai"
            else AnthropicModel(AnthropicSettings(**limits))
        )
        _, failed = await failure(model)
        await model.aclose()

    assert failed.details["provider_code"] == "timeout_error"
    assert failed.details["retryable"] is True


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
async def test_a_provider_that_is_away_is_tried_again_and_then_reported(provider: str) -> None:
    waits = Waits()
    server = ScriptedOpenAI if provider == "openai" else ScriptedAnthropic
    async with server() as gone:
        base_url = gone.base_url
    model = _model(provider, base_url, waits)

    _, failed = await failure(model)
    await model.aclose()

    assert failed.details == {
        "provider_code": "connection_failed",
        "status": None,
        "retryable": True,
    }
    assert len(waits.seconds) == 2
    assert f"{provider.upper()}_BASE_URL" in str(failed)


@pytest.mark.parametrize("count", [-5, 1 << 63, 10**40, True])
async def test_counts_that_cannot_be_true_are_counted_as_nothing(side: Side, count: int) -> None:
    side.provider.script(Turn(text("hi"), usage=TurnUsage(count, count, 0, 0)))

    completed = await answer(side.model)

    assert all(0 <= number <= 1 for number in asdict(completed.usage).values())


async def test_an_id_that_the_conversation_has_already_is_not_used_again(side: Side) -> None:
    former = [
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "a", "name": "t", "input": {}}],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "r"}]},
    ]
    asked = replace(ASK, messages=[*ASK.messages, *former], tools=TOOLS)
    side.provider.script(Turn(tool_use("bash", id="a"), tool_use("bash", id="b")))

    completed = await answer(side.model, asked)

    first, second = [block["id"] for block in completed.content]
    assert first not in ("a", "b")
    assert second == "b"
