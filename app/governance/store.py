"""The catalog in the database, and the operator's choices on it."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType
from typing import Any

from app.catalog.catalog import Catalog
from app.core.clock import Clock, isoformat
from app.core.errors import ToolNotFound
from app.db.ledger import Ledger, Transaction
from app.governance.snapshot import GovernanceSnapshot, ToolState

_READ = (
    "SELECT name, enabled, requires_confirmation, prompt_hint, version, present, source, toolset"
    " FROM tools"
)
_ADD = (
    "INSERT INTO tools (name, source, toolset, present, enabled, version, updated_at)"
    " VALUES (?, ?, ?, ?, ?, 1, ?)"
)
_SEEN = "UPDATE tools SET present = ?, source = ?, toolset = ?, updated_at = ? WHERE name = ?"
_GONE = "UPDATE tools SET present = ?, updated_at = ? WHERE name = ?"
_SWITCH = "UPDATE tools SET enabled = ?, version = version + 1, updated_at = ? WHERE name = ?"


class GovernanceStore:
    """Keeps the current snapshot, and replaces it when a choice changes."""

    def __init__(self, ledger: Ledger, clock: Clock) -> None:
        self._ledger = ledger
        self._clock = clock
        self._listeners: list[Callable[[GovernanceSnapshot], None]] = []
        self.snapshot = GovernanceSnapshot()

    def on_change(self, listener: Callable[[GovernanceSnapshot], None]) -> None:
        self._listeners.append(listener)

    async def sync(self, catalog: Catalog) -> None:
        """Bring the table in line with the catalog; choices are never overwritten."""
        moment = isoformat(self._clock.now())

        def merge(transaction: Transaction) -> list[tuple[Any, ...]]:
            known = {row[0]: row for row in transaction.fetch(_READ)}
            for tool in catalog.tools.values():
                row = known.get(tool.name)
                if row is None:
                    new = (tool.name, tool.source, tool.toolset, True, True, moment)
                    transaction.execute(_ADD, new)
                elif (bool(row[5]), row[6], row[7]) != (True, tool.source, tool.toolset):
                    seen = (True, tool.source, tool.toolset, moment, tool.name)
                    transaction.execute(_SEEN, seen)
            for name in known.keys() - catalog.tools.keys():
                if known[name][5]:
                    transaction.execute(_GONE, (False, moment, name))
            return transaction.fetch(_READ)

        self._swap(await self._ledger.transact(merge))

    async def set_enabled(self, tool_name: str, *, enabled: bool) -> ToolState:
        """Switch a tool on or off for everybody, from the next call on.

        Raises:
            ToolNotFound: the catalog never held such a tool.
        """
        moment = isoformat(self._clock.now())

        def switch(transaction: Transaction) -> list[tuple[Any, ...]]:
            if not transaction.execute(_SWITCH, (enabled, moment, tool_name)):
                raise ToolNotFound(f"Tool not found: {tool_name}", tool_name=tool_name)
            return transaction.fetch(_READ)

        self._swap(await self._ledger.transact(switch))
        return self.snapshot.state(tool_name)

    def _swap(self, rows: list[tuple[Any, ...]]) -> None:
        tools = {
            row[0]: ToolState(
                bool(row[1]), None if row[2] is None else bool(row[2]), row[3], row[4]
            )
            for row in rows
        }
        generation = self.snapshot.generation + 1
        self.snapshot = GovernanceSnapshot(generation, MappingProxyType(tools))
        for listener in self._listeners:
            listener(self.snapshot)
