"""Secrets of the service itself, which are masked everywhere."""

from __future__ import annotations

from app.config.settings import Settings
from app.core.redaction import Redactor


def redactor_of(settings: Settings) -> Redactor:
    """Return the redactor for the service's own secrets and the operator's patterns."""
    return Redactor(secret_values(settings), settings.redact_patterns)


def secret_values(settings: Settings) -> list[str]:
    """Return the service's own secrets, which are masked everywhere."""
    web = settings.web
    secrets = (
        *(settings.anthropic_api_key, settings.openai_api_key),
        *(settings.token, settings.images.api_key),
        *(web.brave_api_key, web.tavily_api_key),
        *(settings.memory.postgres, settings.memory.embeddings_key),
    )
    return [secret.get_secret_value() for secret in secrets if secret is not None]
