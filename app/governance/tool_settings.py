"""The catalog in the database, with the operator's settings of tools."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from app.catalog.catalog import Catalog
from app.core.clock import Clock, isoformat
from app.core.errors import Conflict, NotFound, ToolNotFound
from app.core.versions import check_version
from app.db.writer import DatabaseWriter, Transaction
from app.governance.audit.log import AuditEntry
from app.governance.config_versions import ConfigVersions, increment
from app.governance.rows import (
    GOVERNANCE,
    VersionedRows,
    insert_tool,
    mark_tool,
    read_stored,
    read_tools,
    read_toolsets,
    shown,
    write_tool,
    write_toolset,
)
from app.governance.snapshot import (
    DEFAULT_TOOLSET,
    GovernanceSnapshot,
    ToolsetState,
    ToolState,
)

if TYPE_CHECKING:
    from app.governance.audit.log import AuditLog

T = TypeVar("T")


class ToolSettingsRepository:
    """Provides the current snapshot, and replaces it when a setting changes.

    Every change is one transaction: version check, row and audit line.
    """

    def __init__(
        self,
        db: DatabaseWriter,
        clock: Clock,
        *,
        audit: AuditLog | None = None,
        changes: ConfigVersions | None = None,
    ) -> None:
        self._db = db
        self._clock = clock
        self._audit = audit
        self._changes = changes or ConfigVersions(db)
        self._changes.watch(GOVERNANCE, self.reload)
        self._listeners: list[Callable[[GovernanceSnapshot], None]] = []
        self._catalog = Catalog()
        self.snapshot = GovernanceSnapshot()

    def on_change(self, listener: Callable[[GovernanceSnapshot], None]) -> None:
        self._listeners.append(listener)

    async def sync(self, catalog: Catalog) -> None:
        """Bring the table in line with the catalog; settings are never overwritten."""
        moment = isoformat(self._clock.now())

        def merge(transaction: Transaction) -> VersionedRows:
            known = read_tools(transaction)
            changed = False
            for tool in catalog.tools.values():
                state = known.get(tool.name)
                if state is None:
                    insert_tool(transaction, tool, moment)
                elif (state.present, state.source, state.toolset) == (
                    True,
                    tool.source,
                    tool.toolset,
                ):
                    continue
                else:
                    seen = replace(state, present=True, source=tool.source, toolset=tool.toolset)
                    mark_tool(transaction, tool.name, seen, moment)
                changed = True
            for name in known.keys() - catalog.tools.keys():
                if known[name].present:
                    mark_tool(transaction, name, replace(known[name], present=False), moment)
                    changed = True
            if changed:
                increment(transaction, GOVERNANCE)
            return read_stored(transaction)

        stored = await self._db.transact(merge)
        self._catalog = catalog
        self._swap(stored)

    async def reload(self) -> None:
        """Reload changes by other processes."""
        self._swap(await self._db.transact(read_stored))

    async def write(self, work: Callable[[Transaction], T]) -> T:
        """Run an operator's change as one transaction, and apply its result."""

        def run(transaction: Transaction) -> tuple[T, VersionedRows]:
            return work(transaction), read_stored(transaction)

        result, stored = await self._db.transact(run)
        self._swap(stored)
        return result

    def note(
        self,
        transaction: Transaction,
        kind: str,
        *,
        actor: str,
        subject: str,
        before: Mapping[str, Any] | None,
        after: Mapping[str, Any] | None,
        **more: Any,
    ) -> None:
        """Record a change in the audit within its transaction, and notify other processes."""
        increment(transaction, GOVERNANCE)
        if self._audit is not None:
            self._audit.within(
                transaction,
                AuditEntry(kind, actor=actor, subject=subject, before=before, after=after, **more),
            )

    def guard_core(self, tool_names: Iterable[str], *, force: bool) -> None:
        """Prevent disabling a core tool by accident.

        Raises:
            Conflict: a tool is a core tool, and `force` is not set.
        """
        self._guard_core({name: self.snapshot.state(name) for name in tool_names}, force=force)

    async def set_enabled(
        self, tool_name: str, *, enabled: bool, actor: str = "system", force: bool = False
    ) -> ToolState:
        """Enable or disable a tool for everyone, from the next call.

        Raises:
            ToolNotFound: the tool was never in the catalog.
            Conflict: it is a core tool, and `force` is not set.
        """
        return await self.change_tool(tool_name, {"enabled": enabled}, actor=actor, force=force)

    async def change_tool(
        self,
        tool_name: str,
        changes: Mapping[str, Any],
        *,
        actor: str,
        expected: int | None = None,
        force: bool = False,
    ) -> ToolState:
        """Change some settings of one tool: fields of `ToolState`.

        Raises:
            ToolNotFound: the tool was never in the catalog.
            Conflict: it would disable a core tool, and `force` is not set.
            VersionMismatch: it has changed since `expected` was read.
        """

        def change(transaction: Transaction) -> None:
            states = _known(transaction, [tool_name])
            check_version(expected, states[tool_name].version)
            self._change(transaction, states, changes, actor=actor, force=force)

        await self.write(change)
        return self.snapshot.state(tool_name)

    async def switch_tools(
        self, tool_names: Iterable[str], *, enabled: bool, actor: str, force: bool = False
    ) -> list[str]:
        """Switch several tools, all or none; return the names of the changed ones.

        Raises:
            ToolNotFound: at least one is unknown; `details["unknown"]` lists them all.
            Conflict: core tools would be disabled, and `force` is not set.
        """
        names = list(dict.fromkeys(tool_names))

        def switch(transaction: Transaction) -> list[str]:
            states = _known(transaction, names)
            return self._change(transaction, states, {"enabled": enabled}, actor=actor, force=force)

        return await self.write(switch)

    async def change_toolset(
        self,
        name: str,
        *,
        enabled: bool,
        actor: str,
        expected: int | None = None,
        force: bool = False,
    ) -> ToolsetState:
        """Switch a whole toolset; the switches of its tools stay unchanged.

        Raises:
            NotFound: no tool ever belonged to the toolset.
            Conflict: it contains core tools, and `force` is not set.
            VersionMismatch: it has changed since `expected` was read.
        """
        moment = isoformat(self._clock.now())

        def switch(transaction: Transaction) -> None:
            members = {k: v for k, v in read_tools(transaction).items() if v.toolset == name}
            if not members:
                raise NotFound(f"Toolset {name!r} not found", toolset=name)
            before = read_toolsets(transaction).get(name, DEFAULT_TOOLSET)
            check_version(expected, before.version)
            if before.enabled == enabled:
                return
            if not enabled:
                self._guard_core(members, force=force)
            write_toolset(transaction, name, ToolsetState(enabled, before.version + 1), moment)
            self.note(
                transaction,
                "governance.toolset",
                actor=actor,
                subject=name,
                before={"enabled": before.enabled},
                after={"enabled": enabled},
            )

        await self.write(switch)
        return self.snapshot.toolset(name)

    def _change(
        self,
        transaction: Transaction,
        states: Mapping[str, ToolState],
        changes: Mapping[str, Any],
        *,
        actor: str,
        force: bool,
    ) -> list[str]:
        """Write the changes that have an effect; return the names of their tools."""
        moment = isoformat(self._clock.now())
        after = {name: replace(state, **changes) for name, state in states.items()}
        changed = [name for name in states if after[name] != states[name]]
        self._guard_core(
            {n: states[n] for n in changed if states[n].enabled and not after[n].enabled},
            force=force,
        )
        for name in changed:
            state = replace(after[name], version=states[name].version + 1)
            write_tool(transaction, name, state, moment)
            self.note(
                transaction,
                "governance.tool",
                actor=actor,
                subject=name,
                tool_name=name,
                before=shown(states[name], changes),
                after=shown(state, changes),
            )
        return changed

    def _guard_core(self, states: Mapping[str, ToolState], *, force: bool) -> None:
        core = sorted(name for name, state in states.items() if self._is_core(name, state))
        if core and not force:
            raise Conflict(
                f"Refused to disable {', '.join(core)}: core tools are required by "
                "every agent. Set `force` to disable them anyway",
                core_tools=core,
            )

    def _is_core(self, tool_name: str, state: ToolState) -> bool:
        if state.is_core is not None:
            return state.is_core
        tool = self._catalog.tools.get(tool_name)
        return tool is not None and tool.core

    def _swap(self, stored: VersionedRows) -> None:
        self._changes.saw(GOVERNANCE, stored.number)
        now = self.snapshot
        if (now.tools, now.toolsets, now.agents) == (stored.tools, stored.toolsets, stored.agents):
            return
        self.snapshot = GovernanceSnapshot(
            now.generation + 1,
            MappingProxyType(stored.tools),
            MappingProxyType(stored.toolsets),
            MappingProxyType(stored.agents),
        )
        for listener in self._listeners:
            listener(self.snapshot)


def _known(transaction: Transaction, names: list[str]) -> dict[str, ToolState]:
    known = read_tools(transaction)
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ToolNotFound(
            f"Tool not found: {', '.join(unknown)}", tool_name=unknown[0], unknown=unknown
        )
    return {name: known[name] for name in names}
