"""Effective model and settings of a conversation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from app.config.settings import Settings
from app.governance.agent_store import AgentStore
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
        return {
            "model": self.model,
            "max_tokens": self.max_tokens,
            "temperature": self.temperature,
        }


def model_settings(
    session: Chosen, profile: AgentProfile | None, settings: Settings
) -> ModelSettings:
    """Merge the settings: session before agent before service."""
    own = [session, *([profile] if profile else [])]

    def first(name: str) -> Any:
        given = (getattr(item, name) for item in own)
        return next((value for value in given if value is not None), getattr(settings, name))

    return ModelSettings(first("model"), first("max_tokens"), first("temperature"))


class AgentSettings:
    """Current profiles and effective settings of agents."""

    def __init__(self, agents: AgentStore, settings: Settings) -> None:
        self._agents = agents
        self._settings = settings

    def require(self, agent_id: str) -> None:
        """Check that an agent exists. Raises: NotFound."""
        self._agents.require(agent_id)

    def profile(self, agent_id: str | None) -> AgentProfile | None:
        """Return an agent's profile, or the default agent's.

        Raises:
            NotFound: the agent does not exist: a deleted agent must not continue as the default.
        """
        return self._agents.require(agent_id).profile if agent_id else self._agents.get(None)

    def max_iterations(self, agent_id: str | None) -> int:
        """Return the maximum turns of a run. Raises: NotFound."""
        profile = self.profile(agent_id)
        return (profile and profile.max_iterations) or self._settings.max_iterations

    def current_model(self, session: Chosen, agent_id: str | None) -> ModelSettings:
        """Return the model settings of an agent's next request and calls. Raises: NotFound."""
        return model_settings(session, self.profile(agent_id), self._settings)

    def model(self, session: Chosen, agent_id: str | None) -> ModelSettings:
        """Return the model settings of a session; those of a deleted agent do not apply."""
        return model_settings(session, self._agents.get(agent_id), self._settings)
