"""OpenAPI and AsyncAPI documents, as the running service returns them."""

from __future__ import annotations

from functools import partial
from typing import Any

from app.config.settings import Settings


def openapi_document(settings: Settings) -> dict[str, Any]:
    """Return the OpenAPI document of the REST API without starting a service."""
    from app.api.app import create_app
    from app.bootstrap.service import open_service

    return create_app(settings, partial(open_service, settings)).openapi()


def asyncapi_document() -> dict[str, Any]:
    """Return the AsyncAPI document of the WebSocket protocol."""
    from app.api.ws.asyncapi import document

    return document()
