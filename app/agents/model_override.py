"""The stronger model that a run was handed to, for a number of its requests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(slots=True)
class ModelOverride:
    """Where a run stands between its own model and a stronger one.

    Attributes:
        model: the stronger one; None before the run was handed over.
        left: how many requests more it answers.
        times: how often the run was handed over.
    """

    model: str | None = None
    left: int = 0
    times: int = 0

    @property
    def current(self) -> str | None:
        """The model that answers the next request in place of the run's own."""
        return self.model if self.left else None

    def raise_to(self, model: str, requests: int) -> None:
        """Hand the next requests over."""
        self.model, self.left, self.times = model, requests, self.times + 1

    def spend(self, asked: str) -> None:
        """A request was answered to the model that was `asked` for."""
        if self.left and asked == self.model:
            self.left -= 1

    def fields(self) -> dict[str, Any]:
        """What of it must survive a restart."""
        return {"model": self.model, "left": self.left, "times": self.times}

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> ModelOverride:
        """Read what `fields` wrote; nothing is a run that was never handed over."""
        return cls(fields.get("model"), fields.get("left", 0), fields.get("times", 0))
