"""One model client in front of all providers: the model's name says which is asked."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import replace

from app.agents.models.protocol import Completed, ModelClient, ModelEvent, ModelRequest
from app.core.models import Provider, split_model


class RoutedModels:
    """A `ModelClient` that passes each request to its provider, under the provider's name for it.

    Args:
        providers: one client each; those without a key say so when they are asked.
        default: who is asked for a name without a provider.
    """

    def __init__(self, providers: Mapping[Provider, ModelClient], *, default: Provider) -> None:
        self._providers = providers
        self._default = default

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """See `ModelClient.stream`; `Completed.asked` is the whole name."""
        provider, model = split_model(request.model, self._default)
        client = self._providers[provider]
        async with aclosing(client.stream(replace(request, model=model))) as events:
            async for event in events:
                if isinstance(event, Completed):
                    yield replace(event, asked=request.model)
                else:
                    yield event

    async def aclose(self) -> None:
        """Close all of them."""
        for client in self._providers.values():
            await client.aclose()
