"""Giving each call its files: the workspace's own, watched."""

from __future__ import annotations

from dataclasses import replace

from app.execution.checkpoints.seen_files import SeenFiles
from app.execution.checkpoints.store import ChangeOrigin, CheckpointStore
from app.execution.checkpoints.watched import WatchedFiles
from app.execution.context import Project
from app.execution.created import CreatedFiles
from app.execution.provenance.written import WrittenFiles
from app.operations.protocols.operations import Operations


class WorkspaceWatch:
    """What is remembered of all sessions of this process; shared by all calls."""

    def __init__(
        self, store: CheckpointStore, created: CreatedFiles, written: WrittenFiles
    ) -> None:
        self.store = store
        self.created = created
        self.written = written
        self._seen = SeenFiles()

    def operations(self, project: Project, origin: ChangeOrigin) -> Operations:
        """A project's operations, as one call may use them."""
        inner = project.operations
        files = WatchedFiles(
            *(inner.files, project.root, self._seen, self.store, origin),
            *(self.created, self.written),
        )
        return replace(inner, files=files)
