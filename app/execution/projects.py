"""Projects: named workspaces, opened once and shared by every call that works in them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from app.core.clock import Clock, isoformat
from app.core.errors import NotFound
from app.core.ids import new_id
from app.db.ledger import Ledger, Transaction
from app.execution.context import Project
from app.operations.protocols import Operations

DEFAULT_PROJECT = "default"

OpenWorkspace = Callable[[Path], Operations]

_READ = "SELECT id, root FROM projects"
_ADD = "INSERT INTO projects (id, name, root, created_at) VALUES (?, ?, ?, ?)"


class Projects:
    """Known projects by id. A workspace is opened at its first use."""

    def __init__(self, ledger: Ledger, clock: Clock, open_workspace: OpenWorkspace) -> None:
        self._ledger = ledger
        self._clock = clock
        self._open_workspace = open_workspace
        self._roots: dict[str, Path] = {}
        self._opened: dict[str, Project] = {}

    async def load(self) -> None:
        """Read the stored projects."""

        def read(transaction: Transaction) -> list[tuple[str, str]]:
            return [(row[0], row[1]) for row in transaction.fetch(_READ)]

        for project_id, root in await self._ledger.transact(read):
            self._roots.setdefault(project_id, Path(root))

    def mount(self, project_id: str, root: Path) -> None:
        """Make a folder a project of this process, without storing it."""
        self._roots[project_id] = root

    async def create(self, name: str, root: Path) -> str:
        """Store a new project; its id."""
        project_id = new_id("prj")
        row = (project_id, name, str(root), isoformat(self._clock.now()))

        def add(transaction: Transaction) -> int:
            return transaction.execute(_ADD, row)

        await self._ledger.transact(add)
        self._roots[project_id] = root
        return project_id

    def get(self, project_id: str) -> Project:
        """The opened project.

        Raises:
            NotFound: there is no such project.
            ConfigurationError: its root is not a folder.
        """
        project = self._opened.get(project_id)
        if project is None:
            root = self._roots.get(project_id)
            if root is None:
                raise NotFound(f"Project not found: {project_id}", project_id=project_id)
            operations = self._open_workspace(root)
            project = self._opened[project_id] = Project(project_id, operations.root, operations)
        return project

    def list_all(self) -> list[tuple[str, str]]:
        """Id and root of every project."""
        return [(project_id, str(root)) for project_id, root in sorted(self._roots.items())]
