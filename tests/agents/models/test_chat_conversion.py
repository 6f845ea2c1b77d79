"""What of a session's history goes to a server of the chat completions wire."""

from __future__ import annotations

from typing import Any

from app.agents.models.chat_conversion import Dialect, chat_body, chat_messages
from app.agents.models.conversion import request_body
from app.agents.models.protocol import Message, ModelRequest

IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA"}}
URL = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}
CALL = {"type": "tool_use", "id": "c1", "name": "ls", "input": {"path": "ü"}}


def result(content: Any, call: str = "c1") -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call, "content": content, "is_error": False}


def test_calls_and_results_take_the_roles_of_this_wire() -> None:
    messages: list[Message] = [
        {"role": "user", "content": "go"},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
                {"type": "text", "text": "I look."},
                CALL,
            ],
        },
        {"role": "user", "content": [{"type": "text", "text": "and?"}, result("a.txt")]},
    ]

    function = {"name": "ls", "arguments": '{"path":"ü"}'}
    assert chat_messages(messages) == [
        {"role": "user", "content": "go"},
        {
            "role": "assistant",
            "content": "I look.",
            "tool_calls": [{"id": "c1", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "a.txt"},
        {"role": "user", "content": "and?"},
    ]


def test_images_of_results_follow_as_the_users_after_all_results() -> None:
    content = [
        result([{"type": "text", "text": "one"}, IMAGE]),
        result([IMAGE], "c2"),
        result([], "c3"),
        {"type": "text", "text": "see?"},
    ]

    assert chat_messages([{"role": "user", "content": content}]) == [
        {"role": "tool", "tool_call_id": "c1", "content": "one"},
        {"role": "tool", "tool_call_id": "c2", "content": "(see the next message)"},
        {"role": "tool", "tool_call_id": "c3", "content": "(no output)"},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "From the result of c1:"},
                URL,
                {"type": "text", "text": "From the result of c2:"},
                URL,
                {"type": "text", "text": "see?"},
            ],
        },
    ]


def test_what_this_wire_cannot_hold_is_left_out() -> None:
    linked = {"type": "image", "source": {"type": "url", "url": "http://inside.example/a.png"}}
    messages: list[Message] = [
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "", "signature": ""}]},
        {"role": "assistant", "content": [{"type": "redacted_thinking", "data": "x"}]},
        {"role": "user", "content": [{"type": "text", "text": ""}, linked, {"type": "new"}]},
        {"role": "user", "content": [{"type": "text", "text": "bad \udcff name"}]},
    ]

    assert chat_messages(messages) == [{"role": "user", "content": "bad ? name"}]


def test_a_call_that_no_server_takes_back_is_mended() -> None:
    call = {
        "type": "tool_use",
        "id": "c1",
        "name": "a b." + "x" * 99,
        "input": {},
        "raw_input": "{",
    }

    [message] = chat_messages([{"role": "assistant", "content": [call]}])
    theirs = request_body(
        ModelRequest(model="m", max_tokens=10, messages=[{"role": "assistant", "content": [call]}]),
        cache_prompts=False,
    )

    name = "a_b_" + "x" * 60
    assert message["content"] is None
    assert message["tool_calls"][0]["function"] == {"name": name, "arguments": "{}"}
    assert theirs["messages"][0]["content"][0]["name"] == name


def test_a_request_carries_what_was_asked_and_this_wire_knows() -> None:
    tool = {"name": "ls", "description": "List.", "input_schema": {"type": "object"}}
    request = ModelRequest(
        model="m",
        system="Be brief.",
        messages=[{"role": "user", "content": "go"}],
        tools=[tool],
        answer_only=True,
        max_tokens=4000,
        temperature=0.5,
        thinking_budget=2000,
        effort="high",
    )
    function = {"name": "ls", "description": "List.", "parameters": {"type": "object"}}

    assert chat_body(request, Dialect("max_tokens")) == {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "go"},
        ],
        "max_tokens": 4000,
        "tools": [{"type": "function", "function": function}],
        "tool_choice": "none",
        "temperature": 0.5,
        "reasoning_effort": "high",
        "stream_options": {"include_usage": True},
    }


def test_what_was_not_asked_is_not_sent() -> None:
    request = ModelRequest(model="m", messages=(), max_tokens=10)

    assert chat_body(request, Dialect("max_completion_tokens", usage=False)) == {
        "model": "m",
        "messages": [],
        "max_completion_tokens": 10,
    }


def test_a_thinking_budget_waits_while_calls_of_another_provider_are_answered() -> None:
    thought = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}

    def asks(*turn: dict[str, Any]) -> bool:
        messages: list[Message] = [
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": list(turn)},
            {"role": "user", "content": [result("x")]},
        ]
        request = ModelRequest(model="m", messages=messages, max_tokens=4000, thinking_budget=2000)
        return "thinking" in request_body(request, cache_prompts=False)

    assert asks(thought, CALL)
    assert asks({"type": "text", "text": "done"})
    assert not asks(CALL)
    assert not asks({"type": "thinking", "thinking": "hm", "signature": ""}, CALL)
