"""Preview of an agent's tools, with reasons for unavailable ones, for REST and terminal."""

from __future__ import annotations

from typing import Any

from app.agents.prompt.builder import build_prompt
from app.agents.prompt.facts import FactFinder, FactSubject, RunFacts
from app.agents.turn_input import left_out
from app.catalog.formats import estimate_tokens
from app.config.settings import Settings
from app.governance.agent_store import AgentStore
from app.governance.agents import SubagentScope
from app.resolver.resolver import Resolver


class ToolsetPreview:
    """Previews what an agent's model would see."""

    def __init__(
        self, agents: AgentStore, resolver: Resolver, facts: FactFinder, settings: Settings
    ) -> None:
        self._agents = agents
        self._resolver = resolver
        self._facts = facts
        self._settings = settings

    async def of(self, agent_id: str | None, *, subagent: bool = False) -> dict[str, Any]:
        """Return the resolver's result as JSON, with the prompt and the tokens of both per request.

        Raises:
            NotFound: the agent does not exist; the message lists the existing ones.
        """
        if agent_id is not None:
            self._agents.require(agent_id)
        resolved = self._resolver.resolve(agent_id, subagent=SubagentScope() if subagent else None)
        without = left_out(self._settings, resolved.agent)
        found = await self._facts.find(
            FactSubject(agent_id=agent_id, tools=resolved.tool_names), RunFacts(), without=without
        )
        prompt = build_prompt(resolved, found, without=without)
        schemas, spoken = resolved.exposure.visible_tokens, estimate_tokens({"": prompt.system})
        return {
            "agent_id": agent_id,
            "subagent": subagent,
            "tool_names": list(resolved.tool_names),
            "prompt_hints": dict(resolved.prompt_hints),
            "manifest": list(resolved.manifest),
            "routes": dict(resolved.routes),
            "disabled_reasons": {
                name: reason.to_dict() for name, reason in resolved.disabled_reasons.items()
            },
            "visible": list(resolved.exposure.visible),
            "deferred": list(resolved.exposure.deferred),
            "system_prompt": prompt.system,
            "prompt_parts": prompt.described(),
            "tokens": {"schemas": schemas, "prompt": spoken, "total": schemas + spoken},
            "runtime_diagnostic": dict(resolved.runtime_diagnostic),
        }
