"""What servers that call themselves compatible send, and what is made of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from app.agents.models.protocol import (
    Completed,
    ModelTextDelta,
    ModelThinkingDelta,
    ModelToolInputDelta,
    TokenUsage,
)
from tests.agents.models.chat_lab import CALLED, STOP, call, chat_lab, delta, raw
from tests.agents.models.exchange import ASK, answer, ask, failure
from tests.support.scripted_anthropic.turns import Turn, text, tool_use

LS: tuple[str, dict[str, Any]] = ("ls", {"path": "."})
PWD: tuple[str, dict[str, Any]] = ("pwd", {})

# what is streamed -> (name, input) of the calls that come out
CALLS: dict[str, tuple[list[dict[str, Any]], list[tuple[str, dict[str, Any]]]]] = {
    "as documented": (
        [
            call(index=0, id="a", name="ls", arguments=""),
            call('{"path":', index=0),
            call('"."}', index=0),
            call(index=1, id="b", name="pwd", arguments="{}"),
            CALLED,
        ],
        [LS, PWD],
    ),
    "pieces of two calls mixed": (
        [
            call(index=0, id="a", name="ls"),
            call(index=1, id="b", name="pwd"),
            call('{"path":', index=0),
            call("{}", index=1),
            call('"."}', index=0),
            CALLED,
        ],
        [LS, PWD],
    ),
    "finished like a plain answer": (
        [call('{"path":"."}', index=0, id="a", name="ls"), STOP],
        [LS],
    ),
    "the reason with the last piece": (
        [call('{"path":"."}', index=0, id="a", name="ls", reason="tool_calls")],
        [LS],
    ),
    "id and name in every piece": (
        [
            call('{"path":', index=0, id="a", name="ls"),
            call('"."}', index=0, id="a", name="ls"),
            CALLED,
        ],
        [LS],
    ),
    "another id in every piece": (
        [call('{"path":', index=0, id="a", name="ls"), call('"."}', index=0, id="z"), CALLED],
        [LS],
    ),
    "the name after the arguments": (
        [call('{"path":', index=0, id="a"), call('"."}', index=0, name="ls"), CALLED],
        [LS],
    ),
    "the id after the arguments": (
        [call('{"path":"."}', index=0, name="ls"), call(index=0, id="a"), CALLED],
        [LS],
    ),
    "no ids": (
        [call('{"path":"."}', index=0, name="ls"), call("{}", index=1, name="pwd"), CALLED],
        [LS, PWD],
    ),
    "empty ids": (
        [call('{"path":"."}', index=0, id="", name="ls"), call("{}", index=1, id=""), CALLED],
        [],
    ),
    "no index": (
        [
            call('{"path":', id="a", name="ls"),
            call("{}", id="b", name="pwd"),
            call('"."}', id="a"),
            CALLED,
        ],
        [LS, PWD],
    ),
    "neither index nor id": (
        [call('{"path":', name="ls"), call('"."}'), call("{}", name="pwd"), CALLED],
        [LS, PWD],
    ),
    "one index for all": (
        [
            call('{"path":"."}', index=0, id="a", name="ls"),
            call("{}", index=0, id="b", name="pwd"),
            STOP,
        ],
        [LS, PWD],
    ),
    "one id for all": (
        [
            call('{"path":"."}', index=0, id="a", name="ls"),
            call("{}", index=1, id="a", name="pwd"),
            CALLED,
        ],
        [LS, PWD],
    ),
    "arguments as an object": (
        [call({"path": "."}, index=0, id="a", name="ls"), CALLED],
        [LS],
    ),
    "index beyond all calls": (
        [call('{"path":"."}', index=10**9, id="a", name="ls"), CALLED],
        [LS],
    ),
}


@pytest.mark.parametrize("case", [case for case, (_, wanted) in CALLS.items() if wanted])
async def test_calls_are_read_however_they_are_streamed(case: str) -> None:
    chunks, wanted = CALLS[case]
    async with chat_lab() as lab:
        lab.provider.script(raw(*chunks))

        *deltas, completed = await ask(lab.model)

    assert isinstance(completed, Completed)
    assert completed.stop_reason == "tool_use"
    assert [(block["name"], block["input"]) for block in completed.content] == wanted
    ids = [block["id"] for block in completed.content]
    assert len(set(ids)) == len(ids)
    # What was told piece by piece is what came out in the end.
    reported: dict[str, str] = {}
    for event in deltas:
        assert isinstance(event, ModelToolInputDelta)
        assert (event.tool_use_id in reported) == bool(event.partial_json)
        reported[event.tool_use_id] = reported.get(event.tool_use_id, "") + event.partial_json
    assert list(reported) == ids


async def test_a_call_without_a_name_fails_the_answer() -> None:
    async with chat_lab(max_retries=0) as lab:
        lab.provider.script(raw(*CALLS["empty ids"][0]))

        _, failed = await failure(lab.model)

    assert failed.details["provider_code"] == "malformed_stream"


@pytest.mark.parametrize("used", ["call_used", "functions.bash:0", "x" * 65, "a b", "é"])
async def test_an_id_that_cannot_stand_in_every_conversation_is_replaced(used: str) -> None:
    before = {"type": "tool_use", "id": "call_used", "name": "ls", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "call_used", "content": "x", "is_error": False}
    messages = [
        *ASK.messages,
        {"role": "assistant", "content": [before]},
        {"role": "user", "content": [result]},
    ]
    async with chat_lab() as lab:
        lab.provider.script(Turn(tool_use("ls", {"path": "."}, id=used)))

        completed = await answer(lab.model, replace(ASK, messages=messages))

    new = completed.content[0]["id"]
    assert new != used
    assert new.startswith("call_")


@pytest.mark.parametrize(
    "raw_input", ["{command: ls}", "[1]", '{"n": NaN}', '{"a": 1', "[" * 99_999]
)
async def test_arguments_that_are_no_object_are_kept_as_text(raw_input: str) -> None:
    async with chat_lab() as lab:
        lab.provider.script(raw(call(raw_input, index=0, id="a", name="ls"), CALLED))

        completed = await answer(lab.model)

    assert completed.content == [
        {"type": "tool_use", "id": "a", "name": "ls", "input": {}, "raw_input": raw_input}
    ]


# chunks -> stop reason, content
ENDINGS: dict[str, tuple[list[Any], str, list[dict[str, Any]]]] = {
    "calls promised, none made": (
        [delta(content="hi"), CALLED],
        "end_turn",
        [{"type": "text", "text": "hi"}],
    ),
    "length": ([delta("length", content="hi")], "max_tokens", [{"type": "text", "text": "hi"}]),
    "filtered": ([delta("content_filter")], "refusal", []),
    "refused in words": (
        [delta(refusal="I can't "), delta(refusal="do that."), STOP],
        "refusal",
        [{"type": "text", "text": "I can't do that."}],
    ),
    "a reason of tomorrow": (
        [delta("tired", content="hi")],
        "tired",
        [{"type": "text", "text": "hi"}],
    ),
    "nothing said": ([delta(content=""), STOP], "end_turn", []),
    "no delta": ([{"choices": [{"index": 0, "finish_reason": "stop"}]}], "end_turn", []),
    "other choices": (
        [
            {"choices": [{"index": 1, "delta": {"content": "no"}, "finish_reason": "stop"}]},
            delta("stop", content="yes"),
        ],
        "end_turn",
        [{"type": "text", "text": "yes"}],
    ),
    "thinking in either field": (
        [delta(reasoning_content="h"), delta(reasoning="m"), delta("stop", content="hi")],
        "end_turn",
        [
            {"type": "thinking", "thinking": "hm", "signature": ""},
            {"type": "text", "text": "hi"},
        ],
    ),
    "thinking between words": (
        [delta(content="a"), delta(reasoning="h"), delta("stop", content="b")],
        "end_turn",
        [
            {"type": "text", "text": "a"},
            {"type": "thinking", "thinking": "h", "signature": ""},
            {"type": "text", "text": "b"},
        ],
    ),
    "chunks without choices": (
        [{"choices": [], "prompt_filter_results": []}, {"choices": None}, {}, delta("stop")],
        "end_turn",
        [],
    ),
    "half a character": (
        ['{"choices":[{"index":0,"delta":{"content":"a\\ud83c"},"finish_reason":"stop"}]}'],
        "end_turn",
        [{"type": "text", "text": "a?"}],
    ),
    "broken after the end": (
        [delta("stop", content="hi"), "{"],
        "end_turn",
        [{"type": "text", "text": "hi"}],
    ),
}


@pytest.mark.parametrize("case", ENDINGS)
async def test_an_answer_ends_as_the_server_means_it(case: str) -> None:
    chunks, reason, content = ENDINGS[case]
    async with chat_lab() as lab:
        lab.provider.script(raw(*chunks))

        completed = await answer(lab.model)

    assert (completed.stop_reason, completed.content) == (reason, content)


async def test_a_refusal_says_why() -> None:
    async with chat_lab() as lab:
        lab.provider.script(raw(*ENDINGS["refused in words"][0]))

        completed = await answer(lab.model)

    assert completed.stop_details == {"type": "refusal", "explanation": "I can't do that."}


async def test_thinking_is_reported_while_it_comes() -> None:
    async with chat_lab() as lab:
        lab.provider.script(
            raw(delta(reasoning="h"), delta(reasoning="m"), delta("stop", content="x"))
        )

        events = await ask(lab.model)

    assert events[:3] == [
        ModelThinkingDelta(0, "h"),
        ModelThinkingDelta(0, "m"),
        ModelTextDelta(1, "x"),
    ]


USAGE: dict[str, tuple[Any, TokenUsage]] = {
    "absent": (None, TokenUsage()),
    "plain": ({"prompt_tokens": 10, "completion_tokens": 3}, TokenUsage(10, 3)),
    "cached": (
        {
            "prompt_tokens": 10,
            "completion_tokens": 3,
            "prompt_tokens_details": {"cached_tokens": 8},
        },
        TokenUsage(2, 3, 8),
    ),
    "more cached than read": (
        {"prompt_tokens": 10, "prompt_tokens_details": {"cached_tokens": 80}},
        TokenUsage(0, 0, 10),
    ),
    "no numbers": ({"prompt_tokens": "10", "completion_tokens": None}, TokenUsage()),
    "absurd": ({"prompt_tokens": -5, "completion_tokens": 10**40}, TokenUsage()),
    "of another shape": ([1], TokenUsage()),
}


@pytest.mark.parametrize("case", USAGE)
async def test_tokens_are_counted_where_the_server_says_them(case: str) -> None:
    usage, wanted = USAGE[case]
    async with chat_lab() as lab:
        lab.provider.script(raw(delta("stop", content="hi"), {"choices": [], "usage": usage}))

        assert (await answer(lab.model)).usage == wanted


async def test_running_totals_are_not_added_up() -> None:
    counts = [{"prompt_tokens": 9, "completion_tokens": n} for n in (1, 2)]
    async with chat_lab() as lab:
        lab.provider.script(
            raw(*({**delta(content="a"), "usage": usage} for usage in counts), STOP)
        )

        assert (await answer(lab.model)).usage == TokenUsage(9, 2)


BROKEN: dict[str, Any] = {
    "a list": "[1]",
    "a number": "5",
    "null": "null",
    "deep": "[" * 100_000,
    "a number without end": f'{{"created": {"9" * 5000}}}',
    "text that is no text": delta(content={"a": 1}),
    "a call that is no object": delta(tool_calls=["ls"]),
}


@pytest.mark.parametrize("case", BROKEN)
async def test_a_broken_chunk_is_tried_again_and_then_fails(case: str) -> None:
    async with chat_lab() as lab:
        lab.provider.script(*[raw(BROKEN[case])] * 3)

        _, failed = await failure(lab.model)

        assert len(lab.provider.requests) == 3
    assert failed.details["provider_code"] == "malformed_stream"


async def test_calls_without_end_are_refused() -> None:
    many = [{"index": n, "id": f"c{n}", "function": {"name": "ls"}} for n in range(300)]
    async with chat_lab(max_retries=0) as lab:
        lab.provider.script(raw(delta(tool_calls=many), CALLED))

        _, failed = await failure(lab.model)

    assert failed.details["provider_code"] == "malformed_stream"


async def test_an_answer_that_ends_without_a_reason_is_cut() -> None:
    async with chat_lab(max_retries=0) as lab:
        lab.provider.script(raw(delta(content="par")))

        seen, failed = await failure(lab.model)

    assert seen == [ModelTextDelta(0, "par")]
    assert failed.details["provider_code"] == "stream_cut"


async def test_a_page_of_plain_text_is_an_answer_too() -> None:
    async with chat_lab() as lab:
        lab.provider.script(Turn(text("plain")))

        completed = await answer(lab.model)

    assert (completed.model, completed.request_id) == ("claude-test", "req_0001")
