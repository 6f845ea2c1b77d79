"""Administrator's settings of the sandbox, and the network of one workspace."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from app.core.host_rules import HostRules
from app.operations.sandbox.status import Weaker


@dataclass(frozen=True, slots=True)
class SandboxConfig:
    """Settings of the sandbox of this process.

    Attributes:
        temporary: location of private temporary folders; by default the system's.
        readable: further absolute paths that programs may read and run.
        hidden: folders of the service itself, invisible to programs even inside a workspace.
        own_files: files that unrestricted file tools cannot reach outside their workspace.
        own_ports: TCP ports of this service, which no workspace may connect to.
        allow_networks: networks that are not public and that allowed hosts may resolve to.
        uid: user of programs if the service is root.
        weaker: handling of levels whose requirements this kernel does not meet.
        warm_workers: sandboxed interpreters kept ready for each of strict and standard.
        caches: folder of the projects' persistent caches; None for none.
        cache_bytes: maximum size of each of them.
        git_author: name and email of commits by programs.
        memory_bytes, disk_bytes, processes: maximum that a call may request.
    """

    temporary: Path | None = None
    readable: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    own_files: tuple[str, ...] = ()
    own_ports: frozenset[int] = frozenset()
    allow_networks: tuple[str, ...] = ()
    uid: int | None = None
    weaker: Weaker = "refuse"
    warm_workers: int = 1
    memory_bytes: int = 2 << 30
    disk_bytes: int = 1 << 30
    processes: int = 64
    caches: Path | None = None
    cache_bytes: int = 4 << 30
    git_author: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Network:
    """Network access of one workspace's programs; none by default.

    Attributes:
        tcp_ports: ports of any host, including this machine.
        udp: datagrams to anywhere, which no kernel layer can restrict.
        hosts: hosts reached through the egress proxy; excludes `tcp_ports`.
    """

    tcp_ports: tuple[int, ...] = ()
    udp: bool = False
    hosts: HostRules = HostRules()  # noqa: RUF009 - immutable


NO_NETWORK = Network()
