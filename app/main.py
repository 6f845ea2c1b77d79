"""The ASGI application, composed from the settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.bootstrap.service import open_service
from app.config.settings import Settings

if TYPE_CHECKING:
    from fastapi import FastAPI

    from app.agents.models.protocol import ModelClient


def application(settings: Settings, *, model: ModelClient | None = None) -> FastAPI:
    """The ASGI application of this installation."""
    from app.api.app import create_app

    return create_app(settings, lambda: open_service(settings, model=model))
