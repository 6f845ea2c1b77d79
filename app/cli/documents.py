"""The two interface documents, as the running service would give them."""

from __future__ import annotations

from functools import partial
from typing import Any

from app.core.settings import Settings


def openapi_document(settings: Settings) -> dict[str, Any]:
    """OpenAPI of the REST interface; nothing is started for it."""
    from app.api.app import create_app
    from app.main import open_service

    return create_app(settings, partial(open_service, settings)).openapi()


def asyncapi_document() -> dict[str, Any]:
    """AsyncAPI of the WebSocket protocol."""
    from app.api.ws.asyncapi import document

    return document()
