"""Protocol for opening folders as workspaces."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from app.operations.protocols.code import CodeOperations
from app.operations.protocols.operations import Operations
from app.operations.protocols.sandbox import SandboxStatus


class Workspaces(Protocol):
    """Opens folders as workspaces. Blocks; a folder is opened once and stays open."""

    @property
    def status(self) -> SandboxStatus:
        """Return the sandbox's status at each level; probes the kernel at first use."""

    @property
    def code(self) -> CodeOperations:
        """Return Python operations for calls without a folder."""

    async def prepare(self) -> None:
        """Prepare what the first call would wait for; raises nothing."""

    def keep_out(self, port: int) -> None:
        """Block access to `port`, on which the service listens, from every workspace opened
        later.
        """

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
        """Open a folder for calls of agents, whose programs are sandboxed.

        Args:
            tcp_ports: ports that commands may connect to; empty for no network.
            allowed_hosts: hosts that commands may connect to by name, see `app.core.host_rules`.
            roots: folders beneath `root`, relative to it. Paths stay relative to `root`, but
                nothing outside these folders is read, written, listed or searched, including by
                programs, which start in the first of them by default.
            unprotected: patterns of files run by other programs that its programs may write, see
                `app.core.protected_paths`.
            restrict: False allows file tools outside `root`, except for the service's own files;
                programs stay inside. A workspace with `roots` is restricted.
            project_id: project whose persistent cache its programs use; None for none.

        Raises:
            ConfigurationError: `root` is not a folder, or one of `roots` is not a path below it.
        """

    def open_for_operator(self, root: Path) -> Operations:
        """Open a folder for programs of the operator, which run with the service's rights.

        Raises:
            ConfigurationError: `root` is not a folder.
        """
