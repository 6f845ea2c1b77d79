"""Refusals of a strict chat completions server."""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

from tests.support.scripted_anthropic.rules import Refused
from tests.support.scripted_anthropic.turns import HttpError

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_FIELDS = {
    "max_completion_tokens",
    "max_tokens",
    "messages",
    "model",
    "reasoning_effort",
    "stream",
    "stream_options",
    "temperature",
    "tool_choice",
    "tools",
}


def check_body(body: Any, unknown: frozenset[str] = frozenset()) -> None:
    """Check the body. Raises: Refused. `unknown` are fields unknown to this server."""
    if not isinstance(body, dict) or not body.get("model"):
        _refuse("you must provide a model parameter")
    for name in body:
        if name not in _FIELDS or name in unknown:
            _refuse(f"Unsupported parameter: '{name}' is not supported with this model.", name)
    if body.get("stream") is not True:
        _refuse("this server only streams")
    for tool in body.get("tools", []):
        function = tool["function"]
        if tool["type"] != "function" or not _NAME.fullmatch(function["name"]):
            _refuse("Invalid 'tools[0].function.name'")
        if function["parameters"]["type"] != "object":
            _refuse("Invalid schema for function")
    _check_messages(body.get("messages"))


def _check_messages(messages: Any) -> None:
    if not isinstance(messages, list) or not messages:
        _refuse("[] is too short - 'messages'")
    waiting: list[str] = []
    for index, message in enumerate(messages):
        if waiting and message.get("role") != "tool":
            _refuse(f"An assistant message with 'tool_calls' must be followed by: {waiting}")
        waiting = _check_message(index, message, waiting)
    if waiting:
        _refuse(f"no result for {waiting}")
    if messages[-1]["role"] == "assistant":
        _refuse("the last message is the assistant's")


def _check_message(index: int, message: dict[str, Any], waiting: list[str]) -> list[str]:
    """Return the IDs of the calls without a result after this message."""
    match message.get("role"):
        case "assistant":
            return _check_assistant(index, message)
        case "tool":
            call = message["tool_call_id"]
            if call not in waiting:
                _refuse(f"messages[{index}]: no call {call!r} waits")
            _check_text(index, message["content"])
            return [other for other in waiting if other != call]
        case "user":
            _check_content(index, message["content"])
        case "system" if index == 0:
            _check_text(index, message["content"])
        case role:
            _refuse(f"messages[{index}].role is {role!r}")
    return []


def _check_assistant(index: int, message: dict[str, Any]) -> list[str]:
    if set(message) - {"role", "content", "tool_calls"}:
        _refuse(f"messages[{index}]: extra fields")
    calls = message.get("tool_calls", [])
    if message["content"] is not None:
        _check_text(index, message["content"])
    elif not calls:
        _refuse(f"messages[{index}]: content is null")
    for call in calls:
        if not _NAME.fullmatch(call["function"]["name"]):
            _refuse(f"Invalid 'messages[{index}].tool_calls[0].function.name'")
        if not isinstance(json.loads(call["function"]["arguments"]), dict):
            _refuse("arguments are not an object")
    ids = [call["id"] for call in calls]
    if len(set(ids)) < len(ids):
        _refuse("one id twice")
    return ids


def _check_text(index: int, content: Any) -> None:
    if not isinstance(content, str) or not content:
        _refuse(f"messages[{index}].content must be a string")


def _check_content(index: int, content: Any) -> None:
    if isinstance(content, str):
        _check_text(index, content)
        return
    for part in content:
        match part:
            case {"type": "text", "text": str(text)} if text:
                continue
            case {"type": "image_url", "image_url": {"url": str(url)}}:
                if not url.startswith("data:image/"):
                    _refuse("image_url is no data URL")
            case _:
                _refuse(f"messages[{index}].content holds {part!r}")


def _refuse(message: str, parameter: str | None = None) -> NoReturn:
    error = {
        "message": message,
        "type": "invalid_request_error",
        "param": parameter,
        "code": "unsupported_parameter" if parameter else None,
    }
    body = {"error": error}
    raise Refused(HttpError(400, "invalid_request_error", message, body=body))
