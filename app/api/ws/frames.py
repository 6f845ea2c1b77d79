"""Parsing of frames to commands or typed errors."""

from __future__ import annotations

import re
from json import JSONDecodeError
from typing import Any

from pydantic import ValidationError
from starlette.websockets import WebSocket, WebSocketDisconnect

from app.api.json_body import read_json
from app.api.ws.commands import COMMAND_TYPES, ClientCommand, client_command
from app.core.errors import BadFrame, InvalidInput, TollgateError, UnknownMessageType
from app.core.field_problems import field_problem
from app.core.text import truncate
from app.events.envelope import ErrorBody
from app.toolkit.schema import path_label

_ID = re.compile(r'"id"\s*:\s*"([A-Za-z0-9_.:\-]{1,128})"')
_LOOKED_AT = 2000


class Refused(Exception):
    """A frame without a valid command; `ref` is its ID if it is readable."""

    def __init__(self, error: TollgateError, ref: str | None = None) -> None:
        super().__init__(error.message)
        self.error = error
        self.ref = ref


async def receive_text(socket: WebSocket) -> str | None:
    """Read the next frame; None for a binary one.

    Raises:
        WebSocketDisconnect: the client has gone.
    """
    message = await socket.receive()
    if message["type"] == "websocket.disconnect":
        raise WebSocketDisconnect(message.get("code", 1005))
    text: str | None = message.get("text")
    return text


def parse_command(text: str | None) -> ClientCommand:
    """Read a frame.

    Raises:
        Refused: the frame is not JSON, not a command, or does not match its model.
    """
    if text is None:
        raise Refused(BadFrame("Binary frames are not supported; send JSON text"))
    try:
        raw = read_json(text)
    except (JSONDecodeError, UnicodeEncodeError) as error:
        raise Refused(BadFrame(f"Not valid JSON: {truncate(str(error), 200)}")) from None
    if not isinstance(raw, dict):
        raise Refused(BadFrame("A frame must be a JSON object with `type` and `id`"))
    ref = raw.get("id") if isinstance(raw.get("id"), str) else None
    kind = raw.get("type")
    if not isinstance(kind, str) or kind not in COMMAND_TYPES:
        message = (
            f"Unknown type {truncate(repr(kind), 60)}; must be one of "
            f"{', '.join(sorted(COMMAND_TYPES))}"
        )
        raise Refused(UnknownMessageType(message), _short(ref))
    try:
        return client_command.validate_json(text, strict=True)
    except ValidationError as error:
        raise Refused(_invalid(error), _short(ref)) from None


def id_of(text: str | None) -> str | None:
    """Return the ID of an unparsed frame; None if a search of its first characters finds none."""
    found = _ID.search(text[:_LOOKED_AT]) if text else None
    return found[1] if found else None


def error_body(error: TollgateError) -> ErrorBody:
    """Return a typed error in its wire format."""
    details: dict[str, Any] = dict(error.details)
    retry_after = details.pop("retry_after_ms", None)
    return ErrorBody(
        code=error.code,
        message=error.message,
        retryable=bool(details.pop("retryable", error.retryable)),
        retry_after_ms=retry_after,
        details=details or None,
    )


def _invalid(error: ValidationError) -> InvalidInput:
    problems = [
        # The union's tag is the first element of each location; it is not a field.
        field_problem(path_label(item["loc"][1:]), item)
        for item in error.errors(include_url=False, include_input=False)
    ]
    summary = "; ".join(f"{item['path']}: {item['message']}" for item in problems[:10])
    return InvalidInput(f"Invalid command: {summary}", errors=problems[:100])


def _short(ref: str | None) -> str | None:
    return None if ref is None else ref[:128]
