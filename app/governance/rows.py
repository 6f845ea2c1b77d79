"""Conversion of governance settings to and from rows."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import orjson
from pydantic import ValidationError

from app.core.errors import InvalidInput
from app.db.writer import Transaction
from app.governance.agents import StoredAgent, read_profile
from app.governance.config_versions import number_of
from app.governance.limits import Limits
from app.governance.snapshot import ToolsetState, ToolState
from app.toolkit.tool import Tool

log = logging.getLogger(__name__)

GOVERNANCE = "governance"
# An unreadable row must not lift a limit.
UNREADABLE = Limits(calls_per_run=0)
_PARSED_AGENTS = 5000

_READ_TOOLS = (
    "SELECT name, enabled, requires_confirmation, prompt_hint, version, is_core, timeout_s,"
    " max_output_chars, limits, present, source, toolset FROM tools"
)
_ADD_TOOL = (
    "INSERT INTO tools (name, source, toolset, present, enabled, version, updated_at)"
    " VALUES (?, ?, ?, ?, ?, 1, ?)"
)
_MARK_TOOL = "UPDATE tools SET present = ?, source = ?, toolset = ?, updated_at = ? WHERE name = ?"
_WRITE_TOOL = (
    "UPDATE tools SET enabled = ?, requires_confirmation = ?, prompt_hint = ?, is_core = ?,"
    " timeout_s = ?, max_output_chars = ?, limits = ?, version = ?, updated_at = ? WHERE name = ?"
)
_READ_TOOLSETS = "SELECT name, enabled, version FROM toolsets"
_WRITE_TOOLSET = (
    "INSERT INTO toolsets (name, enabled, version, updated_at) VALUES (?, ?, ?, ?)"
    " ON CONFLICT (name) DO UPDATE SET enabled = excluded.enabled, version = excluded.version,"
    " updated_at = excluded.updated_at"
)
_READ_AGENTS = "SELECT id, profile, version, created_at, updated_at FROM agents ORDER BY id"

_READ_AGENT_VERSIONS = "SELECT id, version FROM agents ORDER BY id"


@dataclass(frozen=True, slots=True)
class VersionedRows:
    """Rows of one moment, with the change counter of that moment."""

    tools: dict[str, ToolState]
    toolsets: dict[str, ToolsetState]
    agents: dict[str, StoredAgent]
    number: int


def read_stored(transaction: Transaction) -> VersionedRows:
    return VersionedRows(
        read_tools(transaction),
        read_toolsets(transaction),
        read_agents(transaction),
        number_of(transaction, GOVERNANCE),
    )


def read_tools(transaction: Transaction) -> dict[str, ToolState]:
    return {
        row[0]: ToolState(
            enabled=bool(row[1]),
            requires_confirmation=_flag(row[2]),
            prompt_hint=row[3],
            version=row[4],
            is_core=_flag(row[5]),
            timeout_s=row[6],
            max_output_chars=row[7],
            limits=_limits(row[0], row[8]),
            present=bool(row[9]),
            source=row[10],
            toolset=row[11],
        )
        for row in transaction.fetch(_READ_TOOLS)
    }


def read_toolsets(transaction: Transaction) -> dict[str, ToolsetState]:
    rows = transaction.fetch(_READ_TOOLSETS)
    return {name: ToolsetState(bool(enabled), version) for name, enabled, version in rows}


def read_agents(transaction: Transaction) -> dict[str, StoredAgent]:
    """Return every readable profile. An unreadable one is no agent and may use nothing."""
    read = map(_agent, transaction.fetch(_READ_AGENTS))
    return {stored.profile.id: stored for stored in read if stored is not None}


def read_agent_versions(transaction: Transaction) -> dict[str, int]:
    """Return ID → version, including unreadable profiles."""
    return dict(transaction.fetch(_READ_AGENT_VERSIONS))


# Each change reads all rows; those that are as before need not be parsed again.
@lru_cache(_PARSED_AGENTS)
def _agent(row: tuple[Any, ...]) -> StoredAgent | None:
    agent_id, profile, version, created_at, updated_at = row
    try:
        read = read_profile(agent_id, orjson.loads(profile))
    except (ValidationError, orjson.JSONDecodeError, TypeError) as error:
        log.error("cannot read the profile of agent %r: %s", agent_id, error)  # noqa: TRY400 - the message says it all
        return None
    return StoredAgent(read, version, created_at, updated_at)


def insert_tool(transaction: Transaction, tool: Tool, moment: str) -> None:
    transaction.execute(_ADD_TOOL, (tool.name, tool.source, tool.toolset, True, True, moment))


def mark_tool(transaction: Transaction, name: str, state: ToolState, moment: str) -> None:
    row = (state.present, state.source, state.toolset, moment, name)
    transaction.execute(_MARK_TOOL, row)


def write_tool(transaction: Transaction, name: str, state: ToolState, moment: str) -> None:
    row = (
        state.enabled,
        state.requires_confirmation,
        state.prompt_hint,
        state.is_core,
        state.timeout_s,
        state.max_output_chars,
        orjson.dumps(state.limits.to_json()).decode(),
        state.version,
        moment,
        name,
    )
    transaction.execute(_WRITE_TOOL, row)


def write_toolset(transaction: Transaction, name: str, state: ToolsetState, moment: str) -> None:
    transaction.execute(_WRITE_TOOLSET, (name, state.enabled, state.version, moment))


def shown(state: ToolState, fields: Iterable[str]) -> dict[str, Any]:
    """Return some fields of a state as JSON."""
    values = {name: getattr(state, name) for name in fields}
    return {
        name: value.to_json() if isinstance(value, Limits) else value
        for name, value in values.items()
    }


def _flag(value: Any) -> bool | None:
    return None if value is None else bool(value)


def _limits(tool_name: str, text: str) -> Limits:
    try:
        return Limits.from_json(text)
    except InvalidInput as error:
        log.error("cannot read the limits of tool %r: %s", tool_name, error.message)  # noqa: TRY400 - the message says it all
        return UNREADABLE
