"""Effective model and settings of a conversation."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Protocol

from app.config.settings import Settings
from app.governance.agents import AgentProfile


class Chosen(Protocol):
    """Model settings of a session; None uses the agent's."""

    @property
    def model(self) -> str | None: ...
    @property
    def max_tokens(self) -> int | None: ...
    @property
    def temperature(self) -> float | None: ...


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """Settings of a model request. `temperature` is sent only if set."""

    model: str
    max_tokens: int
    temperature: float | None

    def to_dict(self) -> dict[str, Any]:
        """Return the form for tools that ask a model, and for sub-agents, which inherit it."""
        return asdict(self)


def model_settings(
    session: Chosen, profile: AgentProfile | None, settings: Settings
) -> ModelSettings:
    """Merge the settings: session before agent before service."""
    own = [session, *([profile] if profile else [])]

    def first(name: str) -> Any:
        given = (getattr(item, name) for item in own)
        return next((value for value in given if value is not None), getattr(settings, name))

    return ModelSettings(first("model"), first("max_tokens"), first("temperature"))
