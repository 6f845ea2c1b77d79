"""Agents in the database: created, changed and removed by operators."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal

from app.core.clock import Clock, isoformat
from app.core.errors import AlreadyExists, NotFound
from app.core.versions import check_version
from app.db.writer import Transaction
from app.governance.agents import NO_OVERRIDE, AgentProfile, AgentTool, StoredAgent
from app.governance.identity.token_rules import DEFAULT_AGENT
from app.governance.rows import read_agent_versions, read_agents
from app.governance.tool_settings import ToolSettingsRepository

_ADD = "INSERT INTO agents (id, profile, version, created_at, updated_at) VALUES (?, ?, 1, ?, ?)"
_CHANGE = "UPDATE agents SET profile = ?, version = version + 1, updated_at = ? WHERE id = ?"
_REMOVE = "DELETE FROM agents WHERE id = ?"


class AgentStore:
    """Profiles by ID. Reads use the governance snapshot, without a query."""

    def __init__(self, governance: ToolSettingsRepository, clock: Clock) -> None:
        self._governance = governance
        self._clock = clock

    def get(self, agent_id: str | None) -> AgentProfile | None:
        """Return the current profile; None if the agent does not exist.

        Callers without an agent use the one named `default`.
        """
        wanted = DEFAULT_AGENT if agent_id is None else agent_id
        stored = self._governance.snapshot.agents.get(wanted)
        return stored.profile if stored else None

    def require(self, agent_id: str) -> StoredAgent:
        """Return the agent with its version.

        Raises:
            NotFound: the agent does not exist; the message lists the existing ones.
        """
        stored = self._governance.snapshot.agents.get(agent_id)
        if stored is None:
            raise missing(agent_id, list(self._governance.snapshot.agents))
        return stored

    def list_all(self) -> list[StoredAgent]:
        """Return every agent, by ID."""
        return list(self._governance.snapshot.agents.values())

    async def create(self, profile: AgentProfile, *, actor: str) -> StoredAgent:
        """Store a new agent.

        Raises:
            AlreadyExists: its ID is in use, or differs from an existing one only in case.
        """
        moment = isoformat(self._clock.now())

        def add(transaction: Transaction) -> None:
            taken = {known.lower(): known for known in read_agent_versions(transaction)}
            same = taken.get(profile.id.lower())
            if same is not None:
                raise AlreadyExists(f"Agent {same!r} already exists", agent_id=same)
            transaction.execute(_ADD, (profile.id, profile.to_json(), moment, moment))
            self._note(transaction, profile.id, None, profile, actor=actor)

        await self._governance.write(add)
        return self.require(profile.id)

    async def change(
        self, agent_id: str, fields: dict[str, Any], *, actor: str, expected: int | None = None
    ) -> StoredAgent:
        """Change some fields of a profile, given as validated fields of `AgentProfile`.

        Raises:
            NotFound: the agent does not exist.
            VersionMismatch: it has changed since `expected` was read.
        """
        return await self._change(
            agent_id, lambda now: now.model_copy(update=fields), actor=actor, expected=expected
        )

    async def override(
        self,
        agent_id: str,
        tool_name: str,
        override: AgentTool,
        *,
        actor: str,
        expected: int | None = None,
    ) -> StoredAgent:
        """Replace the override of one tool; an empty one removes it.

        Raises:
            NotFound: the agent does not exist.
            VersionMismatch: it has changed since `expected` was read.
        """

        def change(now: AgentProfile) -> AgentProfile:
            tools = {name: item for name, item in now.tools.items() if name != tool_name}
            if override != NO_OVERRIDE:
                tools[tool_name] = override
            return now.model_copy(update={"tools": tools})

        return await self._change(agent_id, change, actor=actor, expected=expected)

    async def switch(
        self, agent_id: str, tool_names: Iterable[str], *, state: Literal["on", "off"], actor: str
    ) -> StoredAgent:
        """Enable or disable tools for one agent, in one change; their hints stay.

        A tool that asks counts as enabled and continues to ask.

        Raises:
            NotFound: the agent does not exist.
        """
        names = list(tool_names)

        def change(now: AgentProfile) -> AgentProfile:
            new = {
                name: now.override(name).model_copy(update={"state": state})
                for name in names
                if state == "off" or now.override(name).state != "ask"
            }
            return now.model_copy(update={"tools": {**now.tools, **new}})

        return await self._change(agent_id, change, actor=actor, expected=None)

    async def remove(self, agent_id: str, *, actor: str, expected: int | None = None) -> None:
        """Remove an agent. Its sessions stay readable, but nothing runs in them any more.

        Raises:
            NotFound: the agent does not exist.
            VersionMismatch: it has changed since `expected` was read.
        """

        def remove(transaction: Transaction) -> None:
            versions = read_agent_versions(transaction)
            if agent_id not in versions:
                raise missing(agent_id, list(versions))
            check_version(expected, versions[agent_id])
            before = read_agents(transaction).get(agent_id)
            transaction.execute(_REMOVE, (agent_id,))
            profile = before.profile if before else None
            self._note(transaction, agent_id, profile, None, actor=actor)

        await self._governance.write(remove)

    async def _change(
        self,
        agent_id: str,
        change: Callable[[AgentProfile], AgentProfile],
        *,
        actor: str,
        expected: int | None,
    ) -> StoredAgent:
        moment = isoformat(self._clock.now())

        def write(transaction: Transaction) -> None:
            before = _current(transaction, agent_id, expected)
            after = change(before.profile)
            if after == before.profile:
                return
            transaction.execute(_CHANGE, (after.to_json(), moment, agent_id))
            self._note(transaction, agent_id, before.profile, after, actor=actor)

        await self._governance.write(write)
        return self.require(agent_id)

    def _note(
        self,
        transaction: Transaction,
        agent_id: str,
        before: AgentProfile | None,
        after: AgentProfile | None,
        *,
        actor: str,
    ) -> None:
        """Record only the changed fields of the profile."""
        old = before.model_dump(mode="json", exclude_defaults=True) if before else None
        new = after.model_dump(mode="json", exclude_defaults=True) if after else None
        if old is not None and new is not None:
            changed = {key for key in old.keys() | new.keys() if old.get(key) != new.get(key)}
            old = {key: old.get(key) for key in sorted(changed)}
            new = {key: new.get(key) for key in sorted(changed)}
        self._governance.note(
            transaction,
            "governance.agent",
            actor=actor,
            subject=agent_id,
            agent_id=agent_id,
            before=old,
            after=new,
        )


def missing(agent_id: str, known: list[str]) -> NotFound:
    """Return the error for an unknown agent."""
    there = (
        f"Existing agents: {', '.join(known[:20])}" if known else "No agent has been created yet"
    )
    return NotFound(f"Agent {agent_id!r} not found. {there}", agent_id=agent_id, agents=known[:100])


def _current(transaction: Transaction, agent_id: str, expected: int | None) -> StoredAgent:
    agents = read_agents(transaction)
    stored = agents.get(agent_id)
    if stored is None:
        raise missing(agent_id, list(agents))
    check_version(expected, stored.version)
    return stored
