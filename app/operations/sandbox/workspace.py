"""Workspaces with sandboxed programs."""

from __future__ import annotations

from pathlib import Path

from app.core.host_rules import HostRules
from app.core.protected_paths import PathSet
from app.operations.local.beneath import Beneath
from app.operations.local.files import LocalFiles
from app.operations.local.queue import WriteQueue
from app.operations.local.search import LocalSearch
from app.operations.local.workspace import LocalWorkspace
from app.operations.protocols.code import CodeOperations
from app.operations.protocols.operations import Operations
from app.operations.protocols.sandbox import SandboxStatus
from app.operations.sandbox.caches import ProjectCache
from app.operations.sandbox.change_watch import WatchedProgramFiles
from app.operations.sandbox.code import SandboxedCode
from app.operations.sandbox.config import NO_NETWORK, Network
from app.operations.sandbox.processes import SandboxedProcesses
from app.operations.sandbox.sandbox import Sandbox

# The memory and the environment of the service are readable there.
_OF_THE_SYSTEM = ("/proc", "/sys", "/dev")


class SandboxedWorkspace:
    """Workspace: files opened beneath its root in this process, programs and Python in `sandbox`.

    Args:
        root: an existing directory.
        network: network access of its programs.
        queue: shared by all workspaces of the process.
        roots: folders beneath `root`, relative to it, that restrict access.
        unprotected: patterns of files run by other programs that its programs may write.
        restrict: False allows file tools outside `root`.
        cache: persistent cache of its programs.

    Raises:
        ConfigurationError: `root` is not a directory, or one of `roots` is not a path below it.
    """

    def __init__(
        self,
        root: Path,
        *,
        sandbox: Sandbox,
        network: Network = NO_NETWORK,
        queue: WriteQueue | None = None,
        roots: tuple[str, ...] = (),
        unprotected: tuple[str, ...] = (),
        restrict: bool = True,
        cache: ProjectCache | None = None,
    ) -> None:
        self._beneath = Beneath(root, hidden=sandbox.config.hidden, roots=roots)
        self._files = self._beneath
        if not (restrict or roots):
            config = sandbox.config
            hidden = (*_OF_THE_SYSTEM, *config.hidden, *config.own_files)
            self._files = Beneath(root, hidden=hidden, restrict=False)
        watched = WatchedProgramFiles(self._beneath, PathSet(unprotected))
        self._processes = SandboxedProcesses(sandbox, self._beneath, watched, network, cache)
        self.operations = Operations(
            root=self._beneath.root,
            files=LocalFiles(self._files, queue or WriteQueue()),
            search=LocalSearch(self._files),
            processes=self._processes,
            code=SandboxedCode(
                *(sandbox, self._beneath.folders, self._beneath.root if roots else None),
                watched=watched,
            ),
            roots=self._beneath.roots,
        )

    async def close(self) -> None:
        """Release the workspace; `operations` cannot be used afterwards. May be called
        repeatedly.
        """
        await self._processes.close()
        self._files.close()
        self._beneath.close()

    async def __aenter__(self) -> SandboxedWorkspace:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class SandboxedWorkspaces:
    """`Workspaces` of a process: one sandbox and one write queue for all of them.

    Two workspaces with the same files must not lose edits, so they share the queue.
    """

    def __init__(self, sandbox: Sandbox, queue: WriteQueue | None = None) -> None:
        self._sandbox = sandbox
        self._queue = queue or WriteQueue()

    @property
    def status(self) -> SandboxStatus:
        return self._sandbox.status

    @property
    def code(self) -> CodeOperations:
        return SandboxedCode(self._sandbox)

    async def prepare(self) -> None:
        await self._sandbox.start()

    def keep_out(self, port: int) -> None:
        self._sandbox.keep_out(port)

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
        workspace = SandboxedWorkspace(
            root,
            sandbox=self._sandbox,
            network=Network(tcp_ports, hosts=HostRules.of(allowed_hosts)),
            queue=self._queue,
            roots=roots,
            unprotected=unprotected,
            restrict=restrict,
            cache=self._cache(project_id, roots),
        )
        return workspace.operations

    def _cache(self, project_id: str | None, roots: tuple[str, ...]) -> ProjectCache | None:
        """Return the cache of a project; a narrowed workspace must not write what others use."""
        config = self._sandbox.config
        if project_id is None or roots or config.caches is None:
            return None
        return ProjectCache(config.caches / project_id, config.cache_bytes, config.uid)

    def open_for_operator(self, root: Path) -> Operations:
        return LocalWorkspace(root, queue=self._queue).operations
