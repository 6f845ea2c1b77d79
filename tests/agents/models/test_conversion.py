"""What of a session's history goes to the provider."""

from __future__ import annotations

from app.agents.models.conversion import request_body, wire_messages
from app.agents.models.protocol import Message, ModelRequest


def test_a_message_that_is_left_empty_is_left_out() -> None:
    messages: list[Message] = [
        {"role": "user", "content": "first"},
        {"role": "assistant", "content": []},
        {"role": "assistant", "content": [{"type": "text", "text": ""}]},
        {"role": "user", "content": [{"type": "text", "text": "second"}]},
    ]

    assert wire_messages(messages) == [
        {"role": "user", "content": [{"type": "text", "text": "first"}]},
        {"role": "user", "content": [{"type": "text", "text": "second"}]},
    ]


def test_thinking_goes_back_only_with_its_signature() -> None:
    whole = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    cut_off = {"type": "thinking", "thinking": "hm", "signature": ""}

    messages = wire_messages([{"role": "assistant", "content": [whole, cut_off]}])

    assert messages == [{"role": "assistant", "content": [whole]}]


def test_results_keep_text_and_images_and_lose_our_own_fields() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA"}}
    result = {"type": "tool_result", "tool_use_id": "t", "is_error": False}

    messages = wire_messages(
        [
            {"role": "user", "content": [{**result, "content": "plain", "status": "success"}]},
            {"role": "user", "content": [{**result, "content": [{**image, "name": "a.png"}]}]},
            {"role": "user", "content": [{**result, "content": None}]},
        ]
    )

    assert [message["content"] for message in messages] == [
        [{**result, "content": "plain"}],
        [{**result, "content": [image]}],
        [{**result, "content": []}],
    ]


def test_numbers_that_json_lacks_do_not_reach_the_wire() -> None:
    call = {"type": "tool_use", "id": "t", "name": "n", "input": {"ratio": float("nan")}}

    messages = wire_messages([{"role": "assistant", "content": [call]}])

    assert messages[0]["content"][0]["input"] == {"ratio": "nan"}


def test_what_was_not_asked_is_not_sent() -> None:
    request = ModelRequest(model="m", messages=(), max_tokens=10)

    assert request_body(request, cache_prompts=False) == {
        "model": "m",
        "max_tokens": 10,
        "messages": [],
    }


def test_adaptive_thinking_is_asked_without_a_budget() -> None:
    request = ModelRequest(model="m", messages=(), max_tokens=10, adaptive_thinking=True)

    arguments = request_body(request, cache_prompts=False)

    assert arguments["thinking"] == {"type": "adaptive"}
