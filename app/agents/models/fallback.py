"""Fallback to another model when the requested one is overloaded or unavailable.

Only a model request is passed on, and only before its first delta: another model cannot continue a
partial response, and tools are never run twice.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any

from app.agents.models.protocol import Completed, ModelClient, ModelEvent, ModelRequest
from app.core.clock import Clock, SystemClock
from app.core.errors import ModelFailed

FAILURES_IN_A_ROW = 3
REST_S = 30.0
_MODELS_REMEMBERED = 1000

log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Health:
    """Recent failures of a model, which is skipped until `until` (monotonic seconds)."""

    failures: int = 0
    until: float = 0.0


class FallbackModels:
    """`ModelClient` that uses the next model after a temporary failure.

    A model that has failed three requests in a row, each with all its retries, is skipped for half
    a minute. If all are skipped, all are tried in order.

    Args:
        models: sends the requests, with its own retries.
        fallbacks: names of models in order of use.
    """

    def __init__(
        self, models: ModelClient, fallbacks: Sequence[str], *, clock: Clock | None = None
    ) -> None:
        self._models = models
        self._fallbacks = tuple(fallbacks)
        self._clock = clock or SystemClock()
        self._health: dict[str, _Health] = {}

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """See `ModelClient.stream`.

        Raises:
            ModelFailed: failure of the first model; `tried` lists the failure of each if there were
                several.
        """
        names = self._order(request.model)
        failures: list[tuple[str, ModelFailed]] = []
        for name in names:
            yielded = False
            try:
                async with aclosing(self._models.stream(replace(request, model=name))) as events:
                    async for event in events:
                        yielded = True
                        if isinstance(event, Completed):
                            self._health.pop(name, None)
                        yield event
            except ModelFailed as failure:
                passing = bool(failure.details.get("retryable"))
                if passing:
                    self._note_failure(name)
                if yielded:
                    raise
                failures.append((name, failure))
                if not passing:
                    break
                log.warning("model %s failed: %s", name, failure.details.get("provider_code"))
            else:
                return
        raise _all_failed(failures)

    async def aclose(self) -> None:
        """Close the underlying client."""
        await self._models.aclose()

    def _order(self, model: str) -> list[str]:
        """Return the models to try in order, without skipped ones."""
        names = list(dict.fromkeys((model, *self._fallbacks)))
        now = self._clock.monotonic()
        rested = [name for name in names if self._health.get(name, _Health()).until <= now]
        return rested or names

    def _note_failure(self, name: str) -> None:
        if name not in self._health and len(self._health) >= _MODELS_REMEMBERED:
            # Sessions may name arbitrary models.
            self._health.pop(next(iter(self._health)))
        health = self._health.setdefault(name, _Health())
        health.failures += 1
        if health.failures >= FAILURES_IN_A_ROW:
            health.until = self._clock.monotonic() + REST_S


def _all_failed(failures: Sequence[tuple[str, ModelFailed]]) -> ModelFailed:
    first = failures[0][1]
    if len(failures) == 1:
        return first
    tried: list[dict[str, Any]] = [
        {"model": name, "provider_code": failure.details.get("provider_code")}
        for name, failure in failures
    ]
    others = ", ".join(name for name, _ in failures[1:])
    message = f"{first.message} The fallbacks also failed: {others}."
    return ModelFailed(message, **{**first.details, "tried": tried})
