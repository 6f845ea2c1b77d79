"""A summary is counted for whoever wrote it."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest

from app.agents.context.summariser import Summariser
from app.agents.models.fallback import FallbackModels
from app.agents.models.protocol import Completed, ModelEvent, ModelRequest, TokenUsage
from app.agents.models.routing import RoutedModels
from app.core.errors import ModelFailed


class Provider:
    """Knows one model, and is overloaded for every other."""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        if request.model != "cheap":
            raise ModelFailed("busy", provider_code="overloaded_error", retryable=True)
        content = [{"type": "text", "text": "Short."}]
        yield Completed(content, "end_turn", TokenUsage(10, 2), "cheap-2026")

    async def aclose(self) -> None:
        """Nothing is open."""


def summariser(counted: list[tuple[str, TokenUsage]], *fallbacks: str) -> Summariser:
    routed = RoutedModels({"anthropic": Provider()}, default="anthropic")
    return Summariser(
        FallbackModels(routed, fallbacks),
        "dear",
        max_tokens=100,
        count=lambda model, usage: counted.append((model, usage)),
    )


async def test_it_is_counted_for_the_fallback_that_answered() -> None:
    counted: list[tuple[str, TokenUsage]] = []
    assert await summariser(counted, "cheap")("a: b") == "Short."
    assert counted == [("cheap", TokenUsage(10, 2))]


async def test_nothing_is_counted_where_nobody_answered() -> None:
    counted: list[tuple[str, TokenUsage]] = []
    with pytest.raises(ModelFailed):
        await summariser(counted)("a: b")
    assert counted == []
