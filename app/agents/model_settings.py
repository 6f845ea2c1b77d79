"""Which model a conversation has, and its settings: one place decides, for all who ask."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Protocol

from app.core.settings import Settings
from app.governance.agents import AgentProfile


class Chosen(Protocol):
    """What a session has been given; None where it leaves the choice to its agent."""

    @property
    def model(self) -> str | None: ...
    @property
    def max_tokens(self) -> int | None: ...
    @property
    def temperature(self) -> float | None: ...


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """What a request is made with. `temperature` is sent only when there is one."""

    model: str
    max_tokens: int
    temperature: float | None

    def to_dict(self) -> dict[str, Any]:
        """As tools that ask a model read them, and sub-agents inherit them."""
        return asdict(self)


def model_settings(
    session: Chosen, profile: AgentProfile | None, settings: Settings
) -> ModelSettings:
    """What the session says beats what its agent says, which beats the service's."""
    own = [session, *([profile] if profile else [])]

    def first(name: str) -> Any:
        given = (getattr(item, name) for item in own)
        return next((value for value in given if value is not None), getattr(settings, name))

    return ModelSettings(first("model"), first("max_tokens"), first("temperature"))
