"""Response headers of a resource: its version and its location."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from app.api.root_path import address

_ETAG = {
    "description": "Version of the item; send it as `If-Match` with a change.",
    "schema": {"type": "string", "example": '"3"'},
    "required": True,
}
_LOCATION = {
    "description": "URL of the item.",
    "schema": {"type": "string", "example": "/api/v1/sessions/ses_1"},
    "required": True,
}

Documented = dict[int | str, dict[str, Any]]

VERSIONED: Documented = {200: {"headers": {"ETag": _ETAG}}}
MADE: Documented = {201: {"headers": {"Location": _LOCATION}}}
MADE_VERSIONED: Documented = {201: {"headers": {"ETag": _ETAG, "Location": _LOCATION}}}


def show_place(request: Request, response: Response, made: str) -> None:
    """Set `Location` to a resource that was created by a POST to its collection."""
    response.headers["Location"] = address(request, f"{request.scope['path'].rstrip('/')}/{made}")
