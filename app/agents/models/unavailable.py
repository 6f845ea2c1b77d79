"""The model client of a provider that has no key."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from app.agents.models.protocol import ModelEvent, ModelRequest
from app.core.errors import ModelFailed


class NoModel:
    """Fails each request with the fix; everything that needs no model works without a key.

    Args:
        setting: where the key would come from.
    """

    def __init__(self, setting: str) -> None:
        self._setting = setting

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Raises: ModelFailed, always, with `provider_code` `no_model_key`."""
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
        """Nothing to let go of."""
