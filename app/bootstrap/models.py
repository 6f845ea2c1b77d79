"""Model clients of the configured providers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.config.settings import Settings
from app.core.models import split_model

if TYPE_CHECKING:
    from app.agents.models.protocol import ModelClient


def model_client(settings: Settings) -> ModelClient:
    """Return one client for all configured providers; those without a key name the missing setting.

    Raises:
        ConfigurationError: a key or an address cannot be used, or a model of the settings
            needs a package that is not installed.
    """
    from app.agents.models.fallback import FallbackModels
    from app.agents.models.openai import require_sdk
    from app.agents.models.routing import RoutedModels

    stronger = settings.escalation.stronger_model
    names = (settings.model, *settings.model_fallbacks, *([stronger] if stronger else ()))
    providers = [split_model(name, settings.model_provider)[0] for name in names]
    if settings.has_openai and "openai" in providers:
        require_sdk()
    models = RoutedModels(
        {"anthropic": _anthropic(settings), "openai": _openai(settings)},
        default=settings.model_provider,
    )
    return FallbackModels(models, settings.model_fallbacks)


def _anthropic(settings: Settings) -> ModelClient:
    from app.agents.models.anthropic import AnthropicModel, AnthropicSettings
    from app.agents.models.routing import NoModel

    if settings.anthropic_api_key is None:
        return NoModel("ANTHROPIC_API_KEY")
    return AnthropicModel(
        AnthropicSettings(
            api_key=settings.anthropic_api_key.get_secret_value(),
            base_url=settings.anthropic_base_url,
            max_retries=settings.model_retries,
            timeout=settings.model_timeout_s,
        )
    )


def _openai(settings: Settings) -> ModelClient:
    from app.agents.models.openai import OpenAIModel, OpenAISettings
    from app.agents.models.routing import NoModel

    if not settings.has_openai:
        return NoModel("OPENAI_API_KEY")
    key = settings.openai_api_key
    return OpenAIModel(
        OpenAISettings(
            api_key=key.get_secret_value() if key else "",
            base_url=settings.openai_base_url,
            max_retries=settings.model_retries,
            timeout=settings.model_timeout_s,
        )
    )
