"""Model client of a provider without a key."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from app.agents.models.protocol import ModelEvent, ModelRequest
from app.core.errors import ModelFailed


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
