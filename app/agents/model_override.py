"""Handover of a run to a stronger model for a number of requests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(slots=True)
class ModelOverride:
    """Handover state of a run between its own and a stronger model.

    Attributes:
        model: stronger model; None before the handover.
        left: number of requests it still answers.
        times: number of handovers.
    """

    model: str | None = None
    left: int = 0
    times: int = 0

    @property
    def current(self) -> str | None:
        """Return the model that answers the next request instead of the run's own."""
        return self.model if self.left else None

    def raise_to(self, model: str, requests: int) -> None:
        """Hand over the next requests."""
        self.model, self.left, self.times = model, requests, self.times + 1

    def spend(self, asked: str) -> None:
        """Count a request answered by the `asked` model."""
        if self.left and asked == self.model:
            self.left -= 1

    def fields(self) -> dict[str, Any]:
        """Return the state that must survive a restart."""
        return {"model": self.model, "left": self.left, "times": self.times}

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> ModelOverride:
        """Parse the output of `fields`; empty fields mean no handover."""
        return cls(fields.get("model"), fields.get("left", 0), fields.get("times", 0))
