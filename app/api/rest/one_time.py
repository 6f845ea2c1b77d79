"""Responses with a secret that is shown only once and not stored."""

from __future__ import annotations

from fastapi import Depends
from starlette.requests import Request

from app.api.deps import dependency


@dependency
async def _mark(request: Request) -> None:
    request.state.shown_once = True


SHOWN_ONCE = [Depends(_mark)]
"""`dependencies` of a route whose response holds a secret."""


def is_shown_once(request: Request) -> bool:
    """Return whether the response to a request holds a secret."""
    return getattr(request.state, "shown_once", False)
