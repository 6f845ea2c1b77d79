"""The scripted server keeps to the real wire and refuses what the real API refuses."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest

from tests.support.http import HttpClient
from tests.support.scripted_anthropic.demo import demo_turn
from tests.support.scripted_anthropic.server import ScriptedAnthropic
from tests.support.scripted_anthropic.turns import (
    Gate,
    Turn,
    cut,
    http_error,
    stream_error,
    text,
    thinking,
    tool_use,
)

HEADERS = {"x-api-key": "test-key", "anthropic-version": "2023-06-01"}
CALL = {"type": "tool_use", "id": "toolu_1", "name": "bash", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "ok"}


@pytest.fixture
async def provider() -> AsyncIterator[ScriptedAnthropic]:
    async with ScriptedAnthropic() as running:
        yield running


@pytest.fixture
async def http(provider: ScriptedAnthropic) -> AsyncIterator[httpx2.AsyncClient]:
    async with HttpClient(base_url=provider.base_url, headers=HEADERS) as client:
        yield client


def body(*messages: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {
        "model": "claude-test",
        "max_tokens": 100,
        "messages": list(messages) or [{"role": "user", "content": "hello"}],
        **fields,
    }


def user(*blocks: dict[str, Any] | str) -> dict[str, Any]:
    return {"role": "user", "content": [_block(block) for block in blocks]}


def assistant(*blocks: dict[str, Any] | str) -> dict[str, Any]:
    return {"role": "assistant", "content": [_block(block) for block in blocks]}


def _block(block: dict[str, Any] | str) -> dict[str, Any]:
    return {"type": "text", "text": block} if isinstance(block, str) else block


def events(answer: httpx2.Response) -> list[dict[str, Any]]:
    """Return the data of each event, which must contain its name."""
    found = []
    for record in answer.text.split("\n\n")[:-1]:
        name, data = record.split("\n")
        found.append(json.loads(data.removeprefix("data: ")))
        assert name == f"event: {found[-1]['type']}"
    return found


async def test_a_streamed_turn_has_the_events_of_the_real_wire_in_order(
    provider: ScriptedAnthropic, http: httpx2.AsyncClient
) -> None:
    provider.script(Turn(thinking("hm", "c2ln"), text("Hi"), tool_use("bash", {"command": "ls"})))

    answer = await http.post("/v1/messages", json=body(stream=True))

    assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert answer.headers["request-id"] == "req_0001"
    usage = {
        "input_tokens": 25,
        "output_tokens": 1,
        "cache_read_input_tokens": 0,
        "cache_creation_input_tokens": 0,
    }
    assert events(answer) == [
        {
            "type": "message_start",
            "message": {
                "id": "msg_0001",
                "type": "message",
                "role": "assistant",
                "model": "claude-test",
                "content": [],
                "stop_reason": None,
                "stop_sequence": None,
                "usage": usage,
            },
        },
        _start(0, {"type": "thinking", "thinking": "", "signature": ""}),
        {"type": "ping"},
        _delta(0, {"type": "thinking_delta", "thinking": "hm"}),
        _delta(0, {"type": "signature_delta", "signature": "c2ln"}),
        {"type": "content_block_stop", "index": 0},
        _start(1, {"type": "text", "text": ""}),
        _delta(1, {"type": "text_delta", "text": "Hi"}),
        {"type": "content_block_stop", "index": 1},
        _start(2, {"type": "tool_use", "id": "toolu_0001", "name": "bash", "input": {}}),
        _delta(2, {"type": "input_json_delta", "partial_json": ""}),
        _delta(2, {"type": "input_json_delta", "partial_json": '{"command": '}),
        _delta(2, {"type": "input_json_delta", "partial_json": '"ls"}'}),
        {"type": "content_block_stop", "index": 2},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "tool_use", "stop_sequence": None},
            "usage": {"output_tokens": 15},
        },
        {"type": "message_stop"},
    ]


def _start(index: int, block: dict[str, Any]) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": block}


def _delta(index: int, delta: dict[str, Any]) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": delta}


async def test_a_turn_without_stream_is_one_json_message(
    provider: ScriptedAnthropic, http: httpx2.AsyncClient
) -> None:
    provider.script(Turn(text("Hi"), tool_use("bash", {"command": "ls"}, id="toolu_A")))

    message = (await http.post("/v1/messages", json=body())).json()

    assert message["content"] == [
        {"type": "text", "text": "Hi"},
        {"type": "tool_use", "id": "toolu_A", "name": "bash", "input": {"command": "ls"}},
    ]
    assert (message["stop_reason"], message["usage"]["output_tokens"]) == ("tool_use", 15)


async def test_an_http_error_has_the_body_and_the_headers_of_the_real_api(
    provider: ScriptedAnthropic, http: httpx2.AsyncClient
) -> None:
    provider.script(http_error(529, message="Overloaded", retry_after=3))

    answer = await http.post("/v1/messages", json=body())

    assert answer.status_code == 529
    assert answer.headers["retry-after"] == "3"
    assert answer.json() == {
        "type": "error",
        "error": {"type": "overloaded_error", "message": "Overloaded"},
        "request_id": answer.headers["request-id"],
    }


async def test_an_error_inside_a_stream_is_its_last_event(
    provider: ScriptedAnthropic, http: httpx2.AsyncClient
) -> None:
    provider.script(Turn(text("par", stream_error(), "tial"), text("more")))

    answer = await http.post("/v1/messages", json=body(stream=True))

    assert answer.status_code == 200
    assert [item["type"] for item in events(answer)][-2:] == ["content_block_delta", "error"]


async def test_a_cut_ends_the_stream_without_its_end(
    provider: ScriptedAnthropic, http: httpx2.AsyncClient
) -> None:
    provider.script(Turn(text("par", cut())), Turn(text("par", cut(abrupt=True))))

    answer = await http.post("/v1/messages", json=body(stream=True))

    assert events(answer)[-1]["type"] == "content_block_delta"
    with pytest.raises(httpx2.TransportError):
        await http.post("/v1/messages", json=body(stream=True))


async def test_a_gate_holds_the_stream_until_it_is_opened(
    provider: ScriptedAnthropic, http: httpx2.AsyncClient
) -> None:
    gate = Gate()
    provider.script(Turn(text("a", gate, "b")))

    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        posted = group.create_task(http.post("/v1/messages", json=body(stream=True)))
        await gate.reached.wait()
        assert not provider.requests[0].answered.is_set()
        gate.open()

    assert events(posted.result())[-1] == {"type": "message_stop"}


async def test_a_client_that_hangs_up_is_noticed_and_the_next_one_is_served(
    provider: ScriptedAnthropic, http: httpx2.AsyncClient
) -> None:
    gate = Gate()
    provider.script(Turn(text("a", gate)), Turn(text("b")))

    async with asyncio.timeout(60):
        async with http.stream("POST", "/v1/messages", json=body(stream=True)):
            received = await provider.received(1)
            await gate.reached.wait()
        await received.closed_by_client.wait()
        answer = await http.post("/v1/messages", json=body())

    assert answer.json()["content"] == [{"type": "text", "text": "b"}]


async def test_small_chunks_split_characters(
    provider: ScriptedAnthropic, http: httpx2.AsyncClient
) -> None:
    provider.script(Turn(text("世界"), chunk_bytes=1))

    async with http.stream("POST", "/v1/messages", json=body(stream=True)) as answer:
        chunks = [chunk async for chunk in answer.aiter_raw()]

    assert max(len(chunk) for chunk in chunks) == 1
    assert "世界" in b"".join(chunks).decode()


async def test_a_callable_turn_sees_the_request(
    provider: ScriptedAnthropic, http: httpx2.AsyncClient
) -> None:
    provider.script(lambda received: Turn(text(received.last_user_text().upper())))

    answer = await http.post("/v1/messages", json=body(user("echo")))

    assert answer.json()["content"] == [{"type": "text", "text": "ECHO"}]


async def test_a_script_that_is_used_up_says_so(
    provider: ScriptedAnthropic, http: httpx2.AsyncClient
) -> None:
    provider.script(Turn(text("only one")))
    await http.post("/v1/messages", json=body())

    answer = await http.post("/v1/messages", json=body())

    assert answer.status_code == 500
    assert answer.headers["x-should-retry"] == "false"
    assert "no turn for request 2" in answer.json()["error"]["message"]


async def test_what_a_callable_turn_raises_is_raised_when_the_server_is_left() -> None:
    def broken(_: object) -> Turn:
        raise LookupError("in the script")

    async def ask() -> None:
        async with ScriptedAnthropic(broken) as provider, HttpClient() as http:
            with pytest.raises(httpx2.TransportError):
                await http.post(f"{provider.base_url}/v1/messages", json=body(), headers=HEADERS)

    with pytest.raises(LookupError, match="in the script"):
        await ask()


@pytest.mark.parametrize(
    ("missing", "status", "kind"),
    [
        ("x-api-key", 401, "authentication_error"),
        ("anthropic-version", 400, "invalid_request_error"),
    ],
)
async def test_a_request_without_its_headers_is_refused(
    provider: ScriptedAnthropic, missing: str, status: int, kind: str
) -> None:
    headers = {name: value for name, value in HEADERS.items() if name != missing}

    async with HttpClient(base_url=provider.base_url, headers=headers) as http:
        answer = await http.post("/v1/messages", json=body())

    assert (answer.status_code, answer.json()["error"]["type"]) == (status, kind)
    assert missing in answer.json()["error"]["message"]


async def test_a_wrong_key_is_refused() -> None:
    async with (
        ScriptedAnthropic(api_key="another") as provider,
        HttpClient(base_url=provider.base_url, headers=HEADERS) as http,
    ):
        answer = await http.post("/v1/messages", json=body())

    assert (answer.status_code, answer.json()["error"]["message"]) == (401, "invalid x-api-key")


REFUSED = {
    "no max_tokens": (body(max_tokens=None), "max_tokens: Field required"),
    "no messages": ({**body(), "messages": []}, "at least one message"),
    "assistant first": (body(assistant("hi"), user("hello")), 'must use the "user" role'),
    "assistant last": (body(user("hello"), assistant("hi")), "prefill"),
    "empty text": (body(user("")), "must be non-empty"),
    "unknown block": (body(user({"type": "future"})), "does not match"),
    "unknown field": (
        body(user("go"), assistant({**CALL, "raw_input": "{"}), user(RESULT)),
        "tool_use.raw_input: Extra inputs are not permitted",
    ),
    "unanswered call": (
        body(user("go"), assistant(CALL), user("never mind")),
        "without `tool_result` blocks immediately after: toolu_1",
    ),
    "unanswered last call": (body(user("go"), assistant(CALL)), "immediately after: toolu_1"),
    "result behind text": (
        body(user("go"), assistant(CALL), user("wait", RESULT)),
        "immediately after: toolu_1",
    ),
    "result too late": (
        body(user("go"), assistant(CALL), user("x"), assistant("y"), user(RESULT)),
        "immediately after: toolu_1",
    ),
    "result without call": (body(user(RESULT)), "unexpected `tool_use_id`"),
    "two results": (
        body(user("go"), assistant(CALL), user(RESULT, RESULT)),
        "must have a single result",
    ),
    "one id twice": (
        body(user("go"), assistant(CALL), user(RESULT), assistant(CALL), user(RESULT)),
        "must be unique",
    ),
    "thinking without signature": (
        body(user("go"), assistant({"type": "thinking", "thinking": "hm"}), user("on")),
        "thinking.signature: Field required",
    ),
    "two tools of one name": (
        body(tools=[{"name": "a", "input_schema": {"type": "object"}}] * 2),
        "Tool names must be unique",
    ),
    "tool name with a dot": (
        body(tools=[{"name": "a.b", "input_schema": {"type": "object"}}]),
        "tools.0.custom.name",
    ),
    "small thinking budget": (
        body(thinking={"type": "enabled", "budget_tokens": 10}),
        "greater than or equal to 1024",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
async def test_a_request_against_the_rules_is_refused_and_spends_no_turn(
    provider: ScriptedAnthropic, http: httpx2.AsyncClient, case: str
) -> None:
    sent, expected = REFUSED[case]
    provider.script(Turn(text("not for you")))

    answer = await http.post("/v1/messages", json=sent)

    assert answer.status_code == 400
    assert answer.json()["error"]["type"] == "invalid_request_error"
    assert expected in answer.json()["error"]["message"]
    assert (provider.remaining, provider.requests) == (1, [])
    assert provider.refused == [answer.json()["error"]["message"]]


async def test_neighbours_of_one_role_count_as_one_turn(
    provider: ScriptedAnthropic, http: httpx2.AsyncClient
) -> None:
    provider.script(Turn(text("fine")))
    second = {**CALL, "id": "toolu_2"}
    results = user(RESULT), user({**RESULT, "tool_use_id": "toolu_2"}, "and go on")

    answer = await http.post(
        "/v1/messages",
        json=body(user("a"), user("b"), assistant(CALL), assistant(second), *results),
    )

    assert answer.status_code == 200


async def test_tokens_are_counted_without_spending_a_turn(
    provider: ScriptedAnthropic, http: httpx2.AsyncClient
) -> None:
    counted = await http.post("/v1/messages/count_tokens", json=body(max_tokens=None))

    assert counted.json()["input_tokens"] > 0
    assert provider.requests == []


async def test_another_address_is_not_found(http: httpx2.AsyncClient) -> None:
    answer = await http.post("/v1/complete", json={})

    assert (answer.status_code, answer.json()["error"]["type"]) == (404, "not_found_error")


async def test_the_demonstration_lists_the_folder_and_then_sums_up() -> None:
    async with (
        ScriptedAnthropic(fallback=demo_turn) as provider,
        HttpClient(base_url=provider.base_url, headers=HEADERS) as http,
    ):
        first = (await http.post("/v1/messages", json=body(user("what is here?")))).json()
        call = first["content"][-1]
        result = {"type": "tool_result", "tool_use_id": call["id"], "content": "a\nb"}
        history = [user("what is here?"), {"role": "assistant", "content": first["content"]}]
        second = (await http.post("/v1/messages", json=body(*history, user(result)))).json()

    assert (call["name"], call["input"]) == ("bash", {"command": "ls -la"})
    assert second["stop_reason"] == "end_turn"
    assert "2 lines" in second["content"][0]["text"]
