"""Projects: named workspaces, opened once and shared by every call that works in them."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from app.core.allowed_hosts import NOT_WITH_PORTS
from app.core.clock import Clock, isoformat
from app.core.errors import AlreadyExists, Conflict, InvalidInput, NotFound
from app.core.field_problems import problem
from app.core.host_rules import HostRules
from app.core.ids import new_id
from app.core.protected_paths import PathSet
from app.core.versions import check_version
from app.db.writer import DatabaseWriter, Transaction
from app.execution.context import Project
from app.execution.project_roots import check_root, check_roots
from app.governance.audit.log import AuditLog
from app.governance.config_table import ConfigSchema, ConfigTable
from app.governance.config_versions import ConfigVersions
from app.operations.protocols.workspaces import Workspaces

DEFAULT_PROJECT = "default"
SUBJECT = "projects"
MAX_NARROWED = 64
"""Maximum open narrowed workspaces; each has a descriptor of its root."""


@dataclass(frozen=True, slots=True)
class StoredProject:
    """Project as administrators see it; `version` is 0 for a project from the settings.

    Attributes:
        tcp_ports: ports that its commands may connect to; empty for no network.
        allowed_hosts: hosts that its commands may connect to by name, see `app.core.host_rules`.
        unprotected_paths: patterns of files run by other programs that its calls may write without
            approval.
        restrict_to_workspace: whether its file tools are restricted to its root.
        from_settings: only its `allowed_hosts` can be changed, and they are stored.
    """

    id: str
    name: str
    root: str
    tcp_ports: tuple[int, ...] = ()
    allowed_hosts: tuple[str, ...] = ()
    unprotected_paths: tuple[str, ...] = ()
    restrict_to_workspace: bool = True
    version: int = 0
    created_at: str | None = None
    updated_at: str | None = None
    from_settings: bool = False

    def shown(self) -> dict[str, Any]:
        """For the audit."""
        return {
            "name": self.name,
            "root": self.root,
            "tcp_ports": list(self.tcp_ports),
            "allowed_hosts": list(self.allowed_hosts),
            "unprotected_paths": list(self.unprotected_paths),
            "restrict_to_workspace": self.restrict_to_workspace,
        }


@dataclass(frozen=True, slots=True)
class OwnFolders:
    """The service's own folders: no project may be inside them, except in its workspace."""

    data_dir: Path
    workspace: Path


class Projects:
    """Known projects by ID. A workspace is opened at its first use."""

    def __init__(
        self,
        db: DatabaseWriter,
        clock: Clock,
        workspaces: Workspaces,
        *,
        audit: AuditLog,
        changes: ConfigVersions,
        own: OwnFolders,
    ) -> None:
        self._clock = clock
        self._workspaces = workspaces
        self._own = own
        self._mounted: dict[str, StoredProject] = {}
        self._opened: dict[str, Project] = {}
        self._narrowed: OrderedDict[tuple[str, tuple[str, ...]], Project] = OrderedDict()
        self._table = ConfigTable(db, audit, changes, _SCHEMA, self._loaded)

    async def load(self) -> None:
        """Load the stored projects, including changes by other processes."""
        await self._table.load()

    def mount(
        self,
        project_id: str,
        root: Path,
        *,
        tcp_ports: tuple[int, ...] = (),
        allowed_hosts: tuple[str, ...] = (),
        unprotected_paths: tuple[str, ...] = (),
        restrict_to_workspace: bool = True,
    ) -> None:
        """Make a folder a project of this process, without storing it."""
        self._mounted[project_id] = StoredProject(
            *(project_id, project_id, str(root.absolute())),
            tcp_ports=tcp_ports,
            allowed_hosts=allowed_hosts,
            unprotected_paths=unprotected_paths,
            restrict_to_workspace=restrict_to_workspace,
            from_settings=True,
        )
        self._close(project_id)

    def get(self, project_id: str) -> Project:
        """Return the opened project.

        Raises:
            NotFound: the project does not exist.
            ConfigurationError: its root is not a folder.
        """
        project = self._opened.get(project_id)
        if project is None:
            project = self._opened[project_id] = self._open(self.about(project_id))
        return project

    def narrowed(self, project_id: str, roots: Sequence[str]) -> Project:
        """Return the project restricted to some of its folders.

        Args:
            roots: folders relative to its root; empty for the whole project.

        Raises:
            NotFound: the project, or a folder in it, does not exist.
            InvalidInput: one of `roots` is not a plain folder below its root.
            ConfigurationError: its root is not a folder.
        """
        project = self.get(project_id)
        if not roots:
            return project
        key = project_id, check_roots(project.root, roots)
        found = self._narrowed.get(key)
        if found is None:
            found = self._narrowed[key] = self._open(self.about(project_id), key[1])
            while len(self._narrowed) > MAX_NARROWED:
                self._narrowed.popitem(last=False)  # its last call closes it
        self._narrowed.move_to_end(key)
        return found

    def _open(self, about: StoredProject, roots: tuple[str, ...] = ()) -> Project:
        operations = self._workspaces.open(
            Path(about.root),
            tcp_ports=about.tcp_ports,
            allowed_hosts=about.allowed_hosts,
            roots=roots,
            unprotected=about.unprotected_paths,
            restrict=about.restrict_to_workspace,
            project_id=about.id,
        )
        return Project(
            *(about.id, operations.root, operations, PathSet(about.unprotected_paths)),
            HostRules.of(about.allowed_hosts),
        )

    def about(self, project_id: str) -> StoredProject:
        """Return a project.

        Raises:
            NotFound: the project does not exist.
        """
        found = self._known(project_id, self._table.items)
        if found is None:
            raise _missing(project_id)
        return found

    def list_all(self) -> list[StoredProject]:
        """Return all projects, by ID."""
        return [self.about(known) for known in sorted({**self._table.items, **self._mounted})]

    async def create(
        self,
        name: str,
        root: str,
        *,
        tcp_ports: tuple[int, ...] = (),
        allowed_hosts: tuple[str, ...] = (),
        unprotected_paths: tuple[str, ...] = (),
        restrict_to_workspace: bool = True,
        project_id: str | None = None,
        actor: str,
        force: bool = False,
    ) -> StoredProject:
        """Store a new project; its ID is generated unless given.

        Raises:
            InvalidInput: its root is not a folder, or needs `force`; or it lists both hosts and
                ports.
            AlreadyExists: another project has the ID.
        """
        path = await self._check(root, force=force)
        moment = isoformat(self._clock.now())
        made = StoredProject(
            *(project_id or new_id("prj"), name, str(path), tcp_ports, allowed_hosts),
            *(unprotected_paths, restrict_to_workspace, 1, moment, moment),
        )
        _check_network(made)

        def add(transaction: Transaction) -> None:
            if made.id in self._mounted or made.id in self._table.stored(transaction):
                raise AlreadyExists(f"Project {made.id!r} already exists", project=made.id)
            self._table.insert(transaction, made)
            self._table.note(
                transaction, made.id, actor, None, made.shown(), detail=_forced(force=force)
            )

        await self._table.write(add)
        return made

    async def change(
        self,
        project_id: str,
        fields: Mapping[str, Any],
        *,
        actor: str,
        expected: int | None = None,
        force: bool = False,
    ) -> StoredProject:
        """Change values of a project; its next call uses them.

        Raises:
            NotFound: the project does not exist.
            Conflict: it comes from the settings, where only `allowed_hosts` can be changed.
            InvalidInput: see `create`.
            VersionMismatch: it has changed since `expected` was read.
        """
        if project_id not in self._mounted or set(fields) != {"allowed_hosts"}:
            self._require_stored(project_id)
        new = dict(fields)
        if "root" in new:
            new["root"] = str(await self._check(new["root"], force=force))
        moment = isoformat(self._clock.now())

        def write(transaction: Transaction) -> None:
            before = self._before_change(transaction, project_id, expected)
            after = replace(before, **new, version=before.version + 1, updated_at=moment)
            _check_network(after)
            if after.shown() == before.shown():
                return
            if project_id in self._table.stored(transaction):
                self._table.update(transaction, after)
            else:
                self._table.insert(transaction, replace(after, created_at=moment))
            old = {key: getattr(before, key) for key in new}
            self._table.note(transaction, project_id, actor, old, new, detail=_forced(force=force))

        await self._table.write(write)
        return self.about(project_id)

    async def remove(
        self, project_id: str, *, actor: str, expected: int | None = None
    ) -> StoredProject:
        """Remove a project and return its last state.

        Its folder and its sessions stay, but nothing new runs in them.

        Raises:
            NotFound, Conflict, VersionMismatch: see `change`.
        """
        self._require_stored(project_id)
        return await self._table.remove(project_id, actor=actor, expected=expected)

    async def _check(self, root: str, *, force: bool) -> Path:
        own = self._own
        return await asyncio.to_thread(
            check_root, root, data_dir=own.data_dir, workspace=own.workspace, force=force
        )

    def _known(self, project_id: str, items: Mapping[str, StoredProject]) -> StoredProject | None:
        """Return a project; one from the settings with the list of hosts that was stored for it."""
        mounted, stored = self._mounted.get(project_id), items.get(project_id)
        if mounted is None or stored is None:
            return mounted or stored
        return replace(
            stored,
            name=mounted.name,
            root=mounted.root,
            tcp_ports=mounted.tcp_ports,
            allowed_hosts=() if mounted.tcp_ports else stored.allowed_hosts,
            unprotected_paths=mounted.unprotected_paths,
            restrict_to_workspace=mounted.restrict_to_workspace,
            from_settings=True,
        )

    def _before_change(
        self, transaction: Transaction, project_id: str, expected: int | None
    ) -> StoredProject:
        stored = self._table.stored(transaction)
        known = self._known(project_id, stored)
        if known is None:
            raise _missing(project_id)
        check_version(expected, known.version)
        return known

    def _require_stored(self, project_id: str) -> None:
        if project_id in self._mounted:
            raise Conflict(
                f"The project {project_id!r} is defined by the settings "
                "TOLLGATE_WORKSPACE, TOLLGATE_SANDBOX__TCP_PORTS, "
                "TOLLGATE_SANDBOX__UNPROTECTED_PATHS and "
                "TOLLGATE_SANDBOX__RESTRICT_TO_WORKSPACE; change these instead. Only its "
                "allowed_hosts can be changed here",
                project_id=project_id,
            )
        self.about(project_id)

    def _loaded(self, earlier: Mapping[str, StoredProject]) -> None:
        for project_id in list(self._opened):
            known = self._known(project_id, self._table.items)
            before = self._known(project_id, earlier)
            # Active calls keep their workspace.
            if known is None or before is None or _place(known) != _place(before):
                self._close(project_id)

    def _close(self, project_id: str) -> None:
        """Close the workspace; the next use opens it again."""
        self._opened.pop(project_id, None)
        for key in [key for key in self._narrowed if key[0] == project_id]:
            del self._narrowed[key]


def _of_row(row: Sequence[Any]) -> StoredProject:
    id_, name, root, network, hosts, unprotected, restricted, *rest = row
    ports = tuple(int(port) for port in network.split(",") if port)
    lists = tuple(hosts.splitlines()), tuple(unprotected.splitlines())
    return StoredProject(id_, name, root, ports, *lists, bool(restricted), *rest)


def _row(project: StoredProject) -> tuple[Any, ...]:
    ports = ",".join(str(port) for port in project.tcp_ports)
    lists = "\n".join(project.allowed_hosts), "\n".join(project.unprotected_paths)
    return (
        *(project.id, project.name, project.root, ports, *lists, project.restrict_to_workspace),
        *(project.version, project.created_at, project.updated_at),
    )


def _place(project: StoredProject) -> tuple[object, ...]:
    """Return the workspace of its calls."""
    return (
        *(project.root, project.tcp_ports, project.allowed_hosts, project.unprotected_paths),
        project.restrict_to_workspace,
    )


def _check_network(project: StoredProject) -> None:
    """Refuse a list of hosts beside ports that are open to every host."""
    if project.tcp_ports and project.allowed_hosts:
        named = {"given": "allowed_hosts", "needed": "tcp_ports"}
        error = problem("body.allowed_hosts", NOT_WITH_PORTS, "not_with", named)
        raise InvalidInput(NOT_WITH_PORTS, errors=[error])


def _forced(*, force: bool) -> dict[str, bool] | None:
    """What the audit adds to a change that needed `force`."""
    return {"forced": True} if force else None


def _missing(project_id: str) -> NotFound:
    return NotFound(f"Project not found: {project_id}", project_id=project_id)


_SCHEMA = ConfigSchema(
    name=SUBJECT,
    kind="governance.project",
    columns=(
        *("id", "name", "root", "network", "hosts", "unprotected", "restricted"),
        *("version", "created_at", "updated_at"),
    ),
    order="id",
    item=_of_row,
    row=_row,
    missing=_missing,
)
