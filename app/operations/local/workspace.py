"""One workspace root and the operations on it."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from pathlib import Path

from app.core.errors import ConfigurationError
from app.operations.local.beneath import Beneath
from app.operations.local.files import LocalFiles
from app.operations.local.processes import LocalProcesses
from app.operations.local.queue import WriteQueue
from app.operations.local.search import LocalSearch
from app.operations.process_errors import sandbox_unavailable
from app.operations.protocols.code import CodeOperations, CodeSpec, RunningCode
from app.operations.protocols.operations import Operations
from app.operations.protocols.processes import ProcessSpec, RunningProcess
from app.operations.protocols.sandbox import LEVELS, LevelStatus, SandboxStatus

NOTHING_CONFINES = "Commands are not sandboxed: they have the rights of the service"


class NoProcesses:
    """`ProcessOperations` that refuses: nothing would restrict a program to the folders."""

    def open(self, spec: ProcessSpec) -> AbstractAsyncContextManager[RunningProcess]:
        raise sandbox_unavailable(
            f"{spec.argv[0]!r} cannot run here: this workspace is narrowed to some "
            "folders, but has no sandbox that enforces this"
        )


class NoCode:
    """`CodeOperations` that refuses: a workspace without a sandbox runs no Python."""

    def open(self, spec: CodeSpec) -> AbstractAsyncContextManager[RunningCode]:
        raise sandbox_unavailable(
            f"Python ({spec.level}) cannot run here: this workspace has no sandbox"
        )


class LocalWorkspace:
    """Workspace with an open root, released by `close`.

    Args:
        root: an existing directory.
        private_tmp: an existing directory for HOME and TMPDIR of started programs.
        queue: shared by all workspaces of the process, so that workspaces with the same files share
            their queue.
        restrict: False allows every path of the machine, at the operator's choice.
        roots: folders beneath `root`, relative to it, that restrict access. Programs cannot be
            restricted here, so none are started in such a workspace.

    Raises:
        ConfigurationError: `root` or `private_tmp` is missing or not a directory, or one of `roots`
            is not a path below `root`.
    """

    def __init__(
        self,
        root: Path,
        *,
        private_tmp: Path | None = None,
        queue: WriteQueue | None = None,
        restrict: bool = True,
        roots: tuple[str, ...] = (),
    ) -> None:
        if private_tmp is not None and not private_tmp.is_dir():
            raise ConfigurationError(
                f"The private temporary folder {str(private_tmp)!r} must be an existing directory"
            )
        self._beneath = Beneath(root, restrict=restrict, roots=roots)
        tmp = None if private_tmp is None else str(private_tmp.absolute())
        unlimited = LocalProcesses(self._beneath, private_tmp=tmp)
        self.operations = Operations(
            root=self._beneath.root,
            files=LocalFiles(self._beneath, queue or WriteQueue()),
            search=LocalSearch(self._beneath),
            processes=NoProcesses() if roots else unlimited,
            code=NoCode(),
            roots=self._beneath.roots,
        )

    def close(self) -> None:
        """Release the root; `operations` cannot be used afterwards. May be called repeatedly."""
        self._beneath.close()

    def __enter__(self) -> LocalWorkspace:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class LocalWorkspaces:
    """`Workspaces` without a sandbox, for tests and the operator's own programs."""

    def __init__(self, queue: WriteQueue | None = None) -> None:
        # One queue for the process: two projects with the same files must not lose edits.
        self._queue = queue or WriteQueue()

    @property
    def status(self) -> SandboxStatus:
        level = LevelStatus(True, False, (), (), True, NOTHING_CONFINES)
        return SandboxStatus(dict.fromkeys(LEVELS, level), NOTHING_CONFINES)

    @property
    def code(self) -> CodeOperations:
        return NoCode()

    async def prepare(self) -> None:
        """Do nothing: there is nothing to prepare."""

    def keep_out(self, port: int) -> None:
        """Do nothing: the network is not restricted here."""

    def open(
        self,
        root: Path,
        *,
        tcp_ports: tuple[int, ...] = (),
        allowed_hosts: tuple[str, ...] = (),
        roots: tuple[str, ...] = (),
        unprotected: tuple[str, ...] = (),
        restrict: bool = True,
        project_id: str | None = None,
    ) -> Operations:
        kept_in = restrict or bool(roots)
        return LocalWorkspace(root, queue=self._queue, roots=roots, restrict=kept_in).operations

    def open_for_operator(self, root: Path) -> Operations:
        return LocalWorkspace(root, queue=self._queue).operations
