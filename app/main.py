"""The ASGI application, composed from the settings."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

from app.config.settings import Settings

if TYPE_CHECKING:
    from fastapi import FastAPI

    from app.agents.models.protocol import ModelClient
    from app.api.service import Service


def application(settings: Settings, *, model: ModelClient | None = None) -> FastAPI:
    """The ASGI application of this installation."""
    from app.api.app import create_app

    def opened() -> AbstractAsyncContextManager[Service]:
        from app.bootstrap.service import open_service

        return open_service(settings, model=model)

    return create_app(settings, opened)
