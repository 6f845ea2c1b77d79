"""Opening folders as workspaces."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from app.operations.protocols.code import CodeOperations
from app.operations.protocols.operations import Operations
from app.operations.protocols.sandbox import SandboxStatus


class Workspaces(Protocol):
    """How this installation opens folders. Blocking; a folder is opened once and kept."""

    @property
    def status(self) -> SandboxStatus:
        """What confines programs at each level; asks the kernel at its first use."""

    @property
    def code(self) -> CodeOperations:
        """Python for calls that work in no folder."""

    async def prepare(self) -> None:
        """Have ready what the first call would wait for; raises nothing."""

    def keep_out(self, port: int) -> None:
        """Let no workspace that is opened connect to `port`: the service listens there."""

    def open(
        self,
        root: Path,
        *,
        tcp_ports: tuple[int, ...] = (),
        roots: tuple[str, ...] = (),
        unprotected: tuple[str, ...] = (),
        restrict: bool = True,
    ) -> Operations:
        """For calls of agents: what they start is confined.

        Args:
            tcp_ports: where commands may connect to; none is no network.
            roots: folders beneath `root`, relative to it. Paths stay relative to `root`, but
                nothing outside of these folders is read, written, listed or searched, also
                not by programs, which start in the first of them when told nothing else.
            unprotected: patterns of files that other programs run and that its programs may
                write all the same, as in `app.core.protected_paths`.
            restrict: False lets file tools reach what lies outside of `root`, but for the
                service's own files; programs stay in it. A workspace with `roots` is restricted.

        Raises:
            ConfigurationError: `root` is no folder, or one of `roots` no path below it.
        """

    def open_for_operator(self, root: Path) -> Operations:
        """For programs that the operator configured, which run with the service's rights.

        Raises:
            ConfigurationError: `root` is no folder.
        """
