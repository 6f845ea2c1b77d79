"""The real SDK against a scripted provider: what a model answers."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from contextlib import aclosing
from typing import Any

import pytest

from app.agents.models.protocol import (
    Completed,
    ModelClient,
    ModelRequest,
    ModelTextDelta,
    ModelThinkingDelta,
    ModelToolInputDelta,
    TokenUsage,
)
from tests.agents.models.exchange import ASK, KEY, answer, ask
from tests.support.scripted_anthropic.server import ScriptedAnthropic
from tests.support.scripted_anthropic.turns import (
    Event,
    Gate,
    RawData,
    Turn,
    TurnUsage,
    redacted_thinking,
    text,
    thinking,
    tool_use,
    unknown_block,
)

CACHED = {"type": "ephemeral"}


async def test_deltas_come_first_and_one_completed_last(
    provider: ScriptedAnthropic, model: ModelClient
) -> None:
    provider.script(
        Turn(
            thinking("let me", "c2ln"),
            text("I'll ", "run."),
            tool_use("bash", raw=['{"comm', 'and": "ls"}'], id="toolu_A"),
            tool_use("today", id="toolu_B"),
            usage=TurnUsage(25, 65, 7, 3),
        )
    )

    events = await ask(model)

    assert events == [
        ModelThinkingDelta(0, "let me"),
        ModelTextDelta(1, "I'll "),
        ModelTextDelta(1, "run."),
        ModelToolInputDelta(2, "toolu_A", "bash", ""),
        ModelToolInputDelta(2, "toolu_A", "bash", '{"comm'),
        ModelToolInputDelta(2, "toolu_A", "bash", 'and": "ls"}'),
        ModelToolInputDelta(3, "toolu_B", "today", ""),
        Completed(
            content=[
                {"type": "thinking", "thinking": "let me", "signature": "c2ln"},
                {"type": "text", "text": "I'll run."},
                {"type": "tool_use", "id": "toolu_A", "name": "bash", "input": {"command": "ls"}},
                {"type": "tool_use", "id": "toolu_B", "name": "today", "input": {}},
            ],
            stop_reason="tool_use",
            usage=TokenUsage(25, 65, 7, 3),
            model="claude-test",
            request_id="req_0001",
        ),
    ]


async def test_characters_split_between_chunks_arrive_whole(
    provider: ScriptedAnthropic, model: ModelClient
) -> None:
    provider.script(Turn(text("你好，世界 🎈"), tool_use("say", {"words": "再见"}), chunk_bytes=1))

    completed = await answer(model)

    assert completed.content[0] == {"type": "text", "text": "你好，世界 🎈"}
    assert completed.content[1]["input"] == {"words": "再见"}


async def test_the_request_carries_everything_that_was_asked(
    provider: ScriptedAnthropic, model: ModelClient
) -> None:
    provider.script(Turn(text("ok")))
    tools = [{"name": "bash", "description": "Run.", "input_schema": {"type": "object"}}]

    await answer(
        model,
        ModelRequest(
            model="claude-test",
            system="Be brief.",
            messages=ASK.messages,
            tools=tools,
            max_tokens=4000,
            temperature=0.5,
            thinking_budget=2000,
            effort="high",
        ),
    )

    received = provider.requests[0]
    said = ASK.messages[0]["content"][0]
    assert received.api_key == KEY
    assert received.body == {
        "model": "claude-test",
        "system": [{"type": "text", "text": "Be brief.", "cache_control": CACHED}],
        "messages": [{"role": "user", "content": [{**said, "cache_control": CACHED}]}],
        "tools": tools,
        "max_tokens": 4000,
        "temperature": 0.5,
        "thinking": {"type": "enabled", "budget_tokens": 2000},
        "output_config": {"effort": "high"},
        "stream": True,
    }


async def test_an_answer_can_be_sent_back_with_its_results(
    provider: ScriptedAnthropic, model: ModelClient
) -> None:
    provider.script(
        Turn(
            thinking("hm"),
            redacted_thinking("b64="),
            unknown_block({"type": "future_block", "foo": 1}),
            tool_use("bash", raw='{"command": ls}', id="toolu_A"),
        ),
        Turn(text("done")),
    )
    first = await answer(model)
    result = {
        "type": "tool_result",
        "tool_use_id": "toolu_A",
        "content": [{"type": "text", "text": "bad \udcff name"}, {"type": "text", "text": ""}],
        "is_error": True,
        "tool_call_id": "ours",
    }
    messages = [
        *ASK.messages,
        {"role": "assistant", "content": first.content},
        {"role": "user", "content": [result]},
    ]

    second = await answer(
        model, ModelRequest(model="claude-test", messages=messages, max_tokens=1000)
    )

    assert second.content == [{"type": "text", "text": "done"}]
    assert provider.requests[1].messages[1]["content"] == [
        {"type": "thinking", "thinking": "hm", "signature": "EqQBCgIYAhIM"},
        {"type": "redacted_thinking", "data": "b64="},
        {"type": "tool_use", "id": "toolu_A", "name": "bash", "input": {}},
    ]
    assert provider.requests[1].tool_results()["toolu_A"]["content"] == [
        {"type": "text", "text": "bad ? name"}
    ]


@pytest.mark.parametrize(
    "raw",
    ['{"command": ls}', '["a list"]', '{"count": NaN}', '{"a": 1', '"text"', "[" * 200_000],
    ids=["no JSON", "list", "NaN", "unfinished", "text", "deep"],
)
async def test_malformed_input_is_kept_as_text_and_its_siblings_stay_whole(
    provider: ScriptedAnthropic, model: ModelClient, raw: str
) -> None:
    provider.script(
        Turn(tool_use("bash", raw=[raw], id="toolu_A"), tool_use("ls", {"path": "."}, id="toolu_B"))
    )

    completed = await answer(model)

    assert completed.content == [
        {"type": "tool_use", "id": "toolu_A", "name": "bash", "input": {}, "raw_input": raw},
        {"type": "tool_use", "id": "toolu_B", "name": "ls", "input": {"path": "."}},
    ]


@pytest.mark.parametrize("reason", ["max_tokens", "refusal", "model_context_window_exceeded"])
async def test_calls_of_a_turn_that_was_stopped_are_dropped_from_the_content(
    provider: ScriptedAnthropic, model: ModelClient, reason: str
) -> None:
    provider.script(
        Turn(
            text("I write."),
            tool_use("ls", {"path": "."}, id="toolu_A"),
            tool_use("write", raw='{"path": "a", "text": "unfini', id="toolu_B", closed=False),
            stop=reason,
        )
    )

    completed = await answer(model)

    assert completed.stop_reason == reason
    assert completed.content == [{"type": "text", "text": "I write."}]
    assert [call["id"] for call in completed.dropped_tool_uses] == ["toolu_A", "toolu_B"]
    assert completed.dropped_tool_uses[1]["raw_input"] == '{"path": "a", "text": "unfini'


async def test_a_refusal_completes_with_its_details(
    provider: ScriptedAnthropic, model: ModelClient
) -> None:
    details = {"type": "refusal", "category": "cyber", "explanation": "no"}
    provider.script(Turn(text(""), stop="refusal", stop_details=details))

    completed = await answer(model)

    assert (completed.stop_reason, completed.content) == ("refusal", [])
    assert completed.stop_details == details


async def test_unknown_events_blocks_and_deltas_pass(
    provider: ScriptedAnthropic, model: ModelClient
) -> None:
    provider.script(
        Turn(
            Event("brand_new", {"type": "brand_new", "x": 1}),
            RawData("newer_still", "not JSON"),
            unknown_block({"type": "future_block", "foo": 1}, {"type": "future_delta", "z": 2}),
            text("still here"),
        )
    )

    completed = await answer(model)

    assert completed.content == [
        {"type": "future_block", "foo": 1},
        {"type": "text", "text": "still here"},
    ]


async def test_a_missing_message_stop_is_forgiven_once_the_stop_reason_is_known(
    provider: ScriptedAnthropic, model: ModelClient
) -> None:
    provider.script(Turn(text("whole"), finish=False))

    assert (await answer(model)).content == [{"type": "text", "text": "whole"}]


async def test_cancelling_the_consumer_closes_the_stream(
    provider: ScriptedAnthropic, model: ModelClient
) -> None:
    gate = Gate()
    provider.script(Turn(text("par", gate)), Turn(text("next")))

    async with asyncio.timeout(60):
        consumer = asyncio.create_task(ask(model))
        received = await provider.received()
        await gate.reached.wait()
        consumer.cancel()
        with pytest.raises(asyncio.CancelledError):
            await consumer
        await received.closed_by_client.wait()

    assert (await answer(model)).content == [{"type": "text", "text": "next"}]


async def test_leaving_the_generator_early_closes_the_stream(
    provider: ScriptedAnthropic, model: ModelClient
) -> None:
    gate = Gate()
    provider.script(Turn(text("par", gate)))

    async with asyncio.timeout(60):
        async with aclosing(model.stream(ASK)) as events:
            assert await anext(events) == ModelTextDelta(0, "par")
        await provider.requests[0].closed_by_client.wait()


async def test_requests_at_the_same_time_do_not_mix(
    provider: ScriptedAnthropic, model: ModelClient
) -> None:
    def echo(received: Any) -> Turn:
        return Turn(text(received.last_user_text()))

    provider.script(*[echo] * 8)
    requests = [
        ModelRequest(
            model="claude-test", max_tokens=100, messages=[{"role": "user", "content": f"n{n}"}]
        )
        for n in range(8)
    ]

    answers = await asyncio.gather(*(answer(model, request) for request in requests))

    assert [item.content[0]["text"] for item in answers] == [f"n{n}" for n in range(8)]


def test_importing_the_model_clients_does_not_import_the_sdk() -> None:
    program = (
        "import sys, app.agents.models.protocol, app.agents.models.anthropic\n"
        "import app.agents.models.routing\n"
        "print([name for name in ('anthropic', 'httpx2') if name in sys.modules])"
    )

    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )

    assert done.stdout == "[]\n"
