"""What an administrator decided about the sandbox, and what one workspace may reach."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from app.operations.sandbox.status import Weaker


@dataclass(frozen=True, slots=True)
class SandboxConfig:
    """Settings of the sandbox of this process.

    Attributes:
        temporary: where private temporary folders are made; the system's place by default.
        readable: further absolute paths that programs may read and run.
        hidden: folders of the service itself; where one lies in a workspace, nothing that runs
            there sees it.
        own_files: what no file tool reaches outside of its workspace, where it reaches the rest.
        own_ports: TCP ports of this service, which no workspace may be let at.
        uid: user that programs run as when the service is root.
        weaker: what to do with levels that this kernel cannot confine as they need.
        warm_workers: confined interpreters kept ready for each of strict and standard.
        git_author: name and mail of commits that programs make.
        memory_bytes, disk_bytes, processes: the most that any one call may ask for.
    """

    temporary: Path | None = None
    readable: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    own_files: tuple[str, ...] = ()
    own_ports: frozenset[int] = frozenset()
    uid: int | None = None
    weaker: Weaker = "refuse"
    warm_workers: int = 1
    memory_bytes: int = 2 << 30
    disk_bytes: int = 1 << 30
    processes: int = 64
    git_author: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Network:
    """Where the programs of one workspace may connect to; nowhere by default.

    Attributes:
        tcp_ports: of any host, this machine included.
        udp: datagrams to anywhere, which no kernel layer can narrow.
    """

    tcp_ports: tuple[int, ...] = ()
    udp: bool = False


NO_NETWORK = Network()
