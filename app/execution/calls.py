"""Tool call requests, in all accepted spellings."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from app.core.errors import InvalidInput
from app.core.ids import call_id
from app.core.text import truncate

_ID = re.compile(r"^[A-Za-z0-9_.:\-]{1,128}$")
MAX_BATCH = 128


@dataclass(frozen=True, slots=True)
class CallRequest:
    """A request to run a tool.

    Attributes:
        id: ID from the caller (`tool_call_id` on the wire).
        name: name from the caller: canonical, alias or unknown.
        arguments: raw JSON object, or JSON text that may be invalid.
    """

    id: str
    name: str
    arguments: dict[str, Any] | str


def parse_call(raw: Any) -> CallRequest:
    """Parse one call in any of three formats.

    OpenAI `{id, type: "function", function: {name, arguments}}`, Anthropic
    `{type: "tool_use", id, name, input}`, plain `{id?, name, arguments?}`.

    Raises:
        InvalidInput: it has none of these formats, or an invalid ID.
    """
    if not isinstance(raw, dict):
        raise InvalidInput("A tool call must be an object with a name and arguments")
    function = raw.get("function")
    if isinstance(function, dict):
        name, arguments = function.get("name"), function.get("arguments", {})
    elif raw.get("type") == "tool_use":
        name, arguments = raw.get("name"), raw.get("raw_input", raw.get("input", {}))
    else:
        name, arguments = raw.get("name"), raw.get("arguments", {})
    if not isinstance(name, str) or not name:
        raise InvalidInput("A tool call requires a `name`", field="name")
    if arguments is None or arguments == "":
        arguments = {}
    if not isinstance(arguments, dict | str):
        raise InvalidInput("`arguments` must be an object or JSON text", field="arguments")
    return CallRequest(_checked_id(raw.get("id")), name, arguments)


def parse_calls(raw: Sequence[Any]) -> list[CallRequest]:
    """Parse a batch; IDs must be unique.

    Raises:
        InvalidInput: it is empty, too large, or contains an invalid call or a duplicate ID.
    """
    if not raw:
        raise InvalidInput("The batch contains no tool call", field="calls")
    if len(raw) > MAX_BATCH:
        raise InvalidInput(f"A batch can contain at most {MAX_BATCH} tool calls", field="calls")
    calls = [parse_call(item) for item in raw]
    seen: set[str] = set()
    for call in calls:
        if call.id in seen:
            raise InvalidInput(f"The batch contains the ID {call.id!r} twice", field="id")
        seen.add(call.id)
    return calls


def _checked_id(value: Any) -> str:
    if value is None or value == "":
        return call_id("call")
    if not isinstance(value, str) or not _ID.match(value):
        raise InvalidInput(
            f"The ID {truncate(repr(value), 60)} must be 1 to 128 of A-Z a-z 0-9 _ . : -",
            field="id",
        )
    return value
