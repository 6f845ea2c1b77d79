"""Refusals of the real API."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

from tests.support.scripted_anthropic.turns import HttpError

_MAX_BYTES = 32 * 1024 * 1024
_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_CALL_ID = re.compile(r"[a-zA-Z0-9_-]+")

# block type -> (required fields, optional fields)
_FIELDS: dict[str, tuple[set[str], set[str]]] = {
    "text": ({"text"}, {"citations"}),
    "thinking": ({"thinking", "signature"}, set()),
    "redacted_thinking": ({"data"}, set()),
    "tool_use": ({"id", "name", "input"}, {"caller"}),
    "tool_result": ({"tool_use_id"}, {"content", "is_error"}),
    "image": ({"source"}, set()),
    "document": ({"source"}, {"title", "context", "citations"}),
}
_COMMON = {"type", "cache_control"}
_ROLE_OF_BLOCK = {
    "thinking": "assistant",
    "redacted_thinking": "assistant",
    "tool_use": "assistant",
    "tool_result": "user",
    "image": "user",
    "document": "user",
}


class Refused(Exception):
    """The request breaks a rule; `error` is the response."""

    def __init__(self, error: HttpError) -> None:
        super().__init__(error.message)
        self.error = error


def check_headers(headers: Mapping[str, str], size: int, key: str | None) -> None:
    """Check the headers. Raises: Refused. `key` is the only accepted one; None accepts any."""
    given = given_key(headers)
    if not given:
        message = "x-api-key or authorization header is required"
        raise Refused(HttpError(401, "authentication_error", message))
    if key is not None and given != key:
        raise Refused(HttpError(401, "authentication_error", "invalid x-api-key"))
    if not headers.get("anthropic-version"):
        _refuse("anthropic-version: header is required")
    if size > _MAX_BYTES:
        raise Refused(
            HttpError(413, "request_too_large", "Request exceeds the maximum allowed size")
        )


def given_key(headers: Mapping[str, str]) -> str:
    """Return the key of a request; SDKs since 2.11 send it as a bearer token."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    bearer = token if scheme.lower() == "bearer" else ""
    return headers.get("x-api-key", "") or bearer


def check_body(body: Any, *, counting: bool = False) -> None:
    """Check the body. Raises: Refused. `counting` skips checks only needed for a response."""
    if not isinstance(body, dict):
        _refuse("request body: Input should be an object")
    if not isinstance(body.get("model"), str) or not body["model"]:
        _refuse("model: Field required")
    if not counting:
        _check_max_tokens(body)
    _check_tools(body.get("tools", []))
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        _refuse("messages: at least one message is required")
    for index, message in enumerate(messages):
        _check_message(index, message)
    _check_order(messages)


def _check_max_tokens(body: dict[str, Any]) -> None:
    limit = body.get("max_tokens")
    if limit is None:
        _refuse("max_tokens: Field required")
    if not isinstance(limit, int) or limit < 1:
        _refuse("max_tokens: Input should be greater than or equal to 1")
    thinking = body.get("thinking") or {}
    if thinking.get("type") != "enabled":
        return
    budget = thinking.get("budget_tokens", 0)
    if budget < 1024:
        _refuse("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
    if budget >= limit:
        _refuse("`max_tokens` must be greater than `thinking.budget_tokens`")


def _check_tools(tools: Any) -> None:
    if not isinstance(tools, list):
        _refuse("tools: Input should be a valid list")
    for index, tool in enumerate(tools):
        if not isinstance(tool, dict) or not _TOOL_NAME.fullmatch(str(tool.get("name", ""))):
            _refuse(f"tools.{index}.custom.name: String should match '^[a-zA-Z0-9_-]{{1,128}}$'")
        schema = tool.get("input_schema")
        if not isinstance(schema, dict) or schema.get("type") != "object":
            _refuse(f"tools.{index}.custom.input_schema.type: Field required")
    names = Counter(tool["name"] for tool in tools)
    if any(count > 1 for count in names.values()):
        _refuse("tools: Tool names must be unique.")


def _check_message(index: int, message: Any) -> None:
    if not isinstance(message, dict) or message.get("role") not in ("user", "assistant"):
        _refuse(f'messages.{index}.role: Input should be "user" or "assistant"')
    for name in set(message) - {"role", "content"}:
        _refuse(f"messages.{index}.{name}: Extra inputs are not permitted")
    content = message.get("content")
    if not isinstance(content, str | list) or not content:
        _refuse(f"messages.{index}: all messages must have non-empty content")
    for position, block in enumerate(_blocks(message)):
        _check_block(f"messages.{index}.content.{position}", block, message["role"])


def _check_block(where: str, block: Any, role: str | None) -> None:
    kind = block.get("type") if isinstance(block, dict) else None
    if kind not in _FIELDS:
        _refuse(f"{where}: Input tag {kind!r} found using 'type' does not match any of the tags")
    required, optional = _FIELDS[kind]
    for name in sorted(required - set(block)):
        _refuse(f"{where}.{kind}.{name}: Field required")
    for name in sorted(set(block) - required - optional - _COMMON):
        _refuse(f"{where}.{kind}.{name}: Extra inputs are not permitted")
    if role is not None and _ROLE_OF_BLOCK.get(kind, role) != role:
        _refuse(f"{where}: `{kind}` blocks are not permitted in `{role}` messages")
    if kind == "text" and not block["text"]:
        _refuse(f"{where}: text content blocks must be non-empty")
    if kind == "tool_use":
        _check_call(where, block)
    if kind == "tool_result" and isinstance(block.get("content"), list):
        for position, inner in enumerate(block["content"]):
            _check_block(f"{where}.tool_result.content.{position}", inner, None)


def _check_call(where: str, block: dict[str, Any]) -> None:
    if not isinstance(block["input"], dict):
        _refuse(f"{where}.tool_use.input: Input should be an object")
    for name, pattern in (("id", _CALL_ID), ("name", _TOOL_NAME)):
        if not pattern.fullmatch(str(block[name])):
            _refuse(f"{where}.tool_use.{name}: String should match pattern '^{pattern.pattern}$'")


def _check_order(messages: list[dict[str, Any]]) -> None:
    turns = list(_merged(messages))
    if turns[0][1] != "user":
        _refuse('messages: first message must use the "user" role')
    if turns[-1][1] != "user":
        calls = _ids(turns[-1][2], "tool_use", "id")
        if calls:
            _refuse_unanswered(turns[-1][0], calls)
        _refuse(
            "This model does not support assistant message prefill."
            " The conversation must end with a user message."
        )
    seen: set[str] = set()
    calls = []
    for index, role, blocks in turns:
        if role == "assistant":
            calls = _ids(blocks, "tool_use", "id")
            if len(set(calls)) < len(calls) or seen & set(calls):
                _refuse(f"messages.{index}: `tool_use` ids must be unique")
            seen |= set(calls)
        else:
            _check_results(index, blocks, calls)


def _check_results(index: int, blocks: list[dict[str, Any]], calls: list[str]) -> None:
    answered = _ids(blocks, "tool_result", "tool_use_id")
    for call in answered:
        if call not in calls:
            _refuse(
                f"messages.{index}: unexpected `tool_use_id` found in `tool_result` blocks: {call}."
                " Each `tool_result` block must have a corresponding `tool_use` block in the"
                " previous message."
            )
        if answered.count(call) > 1:
            _refuse(
                f"messages.{index}: each tool_use must have a single result."
                f" Found multiple `tool_result` blocks with id: {call}"
            )
    # Results come first: after another block they are not "immediately after".
    leading = {block["tool_use_id"] for block in _leading_results(blocks)}
    missing = [call for call in calls if call not in leading]
    if missing:
        _refuse_unanswered(index - 1, missing)


def _leading_results(blocks: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for block in blocks:
        if block["type"] != "tool_result":
            return
        yield block


def _refuse_unanswered(index: int, calls: list[str]) -> NoReturn:
    _refuse(
        f"messages.{index}: `tool_use` ids were found without `tool_result` blocks immediately"
        f" after: {', '.join(calls)}. Each `tool_use` block must have a corresponding"
        " `tool_result` block in the next message."
    )


def _merged(messages: list[dict[str, Any]]) -> Iterator[tuple[int, str, list[dict[str, Any]]]]:
    """Yield (index of the last message, role, blocks), with neighbors of one role merged."""
    role, blocks = messages[0]["role"], list(_blocks(messages[0]))
    for index, message in enumerate(messages[1:], 1):
        if message["role"] == role:
            blocks += _blocks(message)
            continue
        yield index - 1, role, blocks
        role, blocks = message["role"], list(_blocks(message))
    yield len(messages) - 1, role, blocks


def _blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _ids(blocks: list[dict[str, Any]], kind: str, name: str) -> list[str]:
    return [str(block[name]) for block in blocks if block["type"] == kind]


def _refuse(message: str) -> NoReturn:
    raise Refused(HttpError(400, "invalid_request_error", message))
