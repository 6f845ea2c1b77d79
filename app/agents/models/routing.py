"""Model client in front of all providers, selected by the model's name."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import replace

from app.agents.models.protocol import Completed, ModelClient, ModelEvent, ModelRequest
from app.core.errors import ModelFailed
from app.core.models import Provider, split_model


class RoutedModels:
    """`ModelClient` that passes each request to its provider, under the provider's model name.

    Args:
        providers: one client per provider; a client without a key fails its requests.
        default: provider for names without a prefix.
    """

    def __init__(self, providers: Mapping[Provider, ModelClient], *, default: Provider) -> None:
        self._providers = providers
        self._default = default

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """See `ModelClient.stream`; `Completed.asked` is the full name."""
        provider, model = split_model(request.model, self._default)
        client = self._providers[provider]
        async with aclosing(client.stream(replace(request, model=model))) as events:
            async for event in events:
                if isinstance(event, Completed):
                    yield replace(event, asked=request.model)
                else:
                    yield event

    async def aclose(self) -> None:
        """Close all clients."""
        for client in self._providers.values():
            await client.aclose()


class NoModel:
    """Fails each request with instructions; everything that needs no model works without a key.

    Args:
        setting: setting of the missing key.
    """

    def __init__(self, setting: str) -> None:
        self._setting = setting

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Fail. Raises: ModelFailed with `provider_code` `no_model_key`."""
        events: tuple[ModelEvent, ...] = ()
        for event in events:
            yield event
        raise ModelFailed(
            f"No key for model {request.model!r}: set {self._setting} and restart Tollgate.",
            provider_code="no_model_key",
            status=None,
            retryable=False,
        )

    async def aclose(self) -> None:
        """Do nothing."""
