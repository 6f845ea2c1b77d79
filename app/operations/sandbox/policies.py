"""Policy of one run, derived from its level, its limits and this machine's capabilities."""

from __future__ import annotations

import sys
import sysconfig
from dataclasses import dataclass
from pathlib import PurePath

from app.operations.egress.egress import PROXY_PORT
from app.operations.process_errors import sandbox_unavailable
from app.operations.protocols.code import Strictness
from app.operations.protocols.processes import ProcessLimits
from app.operations.protocols.sandbox import Level, LevelStatus
from app.operations.sandbox.config import NO_NETWORK, Network, SandboxConfig
from app.operations.sandbox.jail.job import Policy

WALL_S: dict[Strictness, float] = {"strict": 5.0, "standard": 10.0, "lenient": 30.0}
_MEMORY_BYTES: dict[Strictness, int] = {"strict": 512 << 20, "standard": 1 << 30}
_NO_CPU_LIMIT_S = 10**9
_OPEN_FILES = 1024
# Served so that a host is refused by name and recorded; programs may not listen there themselves.
_USUAL_PORTS = (22, 80, 443)
_PACKAGE_FOLDERS = ("site-packages", "dist-packages")


@dataclass(frozen=True, slots=True)
class ProgramFolders:
    """Folders of a workspace's program.

    Attributes:
        narrowed: the workspace's root, if only folders in it are `writable`.
        readable: further folders of data, as in a `ProcessSpec`.
        read_only: paths it may not change below its writable folders.
        temporary: the writable folder used as its `/tmp`.
        cache: the folder mounted as its `.cache`.
    """

    writable: tuple[str, ...]
    narrowed: str | None = None
    readable: tuple[str, ...] = ()
    read_only: tuple[str, ...] = ()
    temporary: str | None = None
    cache: str | None = None


def command_policy(
    config: SandboxConfig,
    status: LevelStatus,
    limits: ProcessLimits,
    folders: ProgramFolders,
    *,
    program: str,
    network: Network = NO_NETWORK,
    level: Level = "bash",
) -> Policy:
    """Return the policy of a workspace's programs: its folders, and its allowed network.

    Raises:
        ToolFailed: code `sandbox_unavailable`, if a folder of the service is inside one of these
            and cannot be hidden, or nothing restricts programs to folders.
    """
    writable, narrowed = folders.writable, folders.narrowed
    if narrowed is not None and "landlock-fs" not in status.layers:
        raise sandbox_unavailable(
            "Programs cannot be restricted to some folders of a workspace here: this "
            "kernel has no Landlock. Omit workspace_roots for the sub-agent, or give "
            "it no tools that start programs"
        )
    disk = _least(limits.disk_bytes, config.disk_bytes)
    processes = _least(limits.processes, config.processes)
    hidden = _hidden(config, status, (*writable, *folders.readable))
    ports = _ports(config, status, network)
    served = served_ports(status, network)
    return Policy(
        level=level,
        layers=status.layers,
        wall_s=limits.wall_s,
        cpu_s=limits.cpu_s or _NO_CPU_LIMIT_S,
        memory_bytes=_least(limits.memory_bytes, config.memory_bytes),
        processes=processes,
        tasks=processes if limits.tasks is None else limits.tasks,
        file_bytes=_least(limits.file_bytes, disk),
        disk_bytes=disk,
        open_files=limits.open_files or _OPEN_FILES,
        writable=writable,
        mounted=() if narrowed is None else (narrowed, *_apart(writable, narrowed)),
        readable=(*config.readable, *_python_of(program)),
        exact=folders.readable,
        hidden=hidden,
        read_only=folders.read_only,
        temporary=folders.temporary,
        cache=folders.cache,
        tcp_ports=ports,
        udp=bool(ports) and network.udp,
        served_ports=served,
        uid=config.uid,
    )


def lenient_policy(
    config: SandboxConfig,
    status: LevelStatus,
    wall_s: float,
    writable: tuple[str, ...],
    narrowed: str | None = None,
    read_only: tuple[str, ...] = (),
    temporary: str | None = None,
) -> Policy:
    """Return the policy of Python with the rights of a command, without network."""
    limits = ProcessLimits(wall_s=wall_s, cpu_s=int(wall_s) + 1)
    folders = ProgramFolders(writable, narrowed, read_only=read_only, temporary=temporary)
    return command_policy(config, status, limits, folders, program=sys.executable, level="lenient")


def pure_policy(
    config: SandboxConfig, status: LevelStatus, level: Strictness, wall_s: float, *, extra: bool
) -> Policy:
    """Return the policy of computing Python: no files, no network, no processes.

    Args:
        extra: it imports modules outside the standard library.
    """
    return Policy(
        level=level,
        layers=status.layers,
        wall_s=wall_s,
        cpu_s=int(wall_s) + 1,
        memory_bytes=min(_MEMORY_BYTES[level], config.memory_bytes),
        processes=0,
        tasks=0,
        file_bytes=0,
        disk_bytes=0,
        inodes=0,
        readable=module_folders() if extra else (),
        uid=config.uid,
    )


def module_folders() -> tuple[str, ...]:
    """Return the folders of installed modules besides the standard library, in the order of our
    path.
    """
    paths = sysconfig.get_paths()
    own = [path for path in sys.path if PurePath(path).name in _PACKAGE_FOLDERS]
    return tuple(dict.fromkeys((*own, paths["purelib"], paths["platlib"])))


def _python_of(program: str) -> tuple[str, ...]:
    """Return our interpreter's folders, for a program installed with it."""
    folders = tuple(dict.fromkeys((sys.prefix, sys.base_prefix)))
    inside = any(PurePath(program).is_relative_to(folder) for folder in folders)
    return folders if inside else ()


def _apart(folders: tuple[str, ...], root: str) -> tuple[str, ...]:
    """Return the folders outside `root`."""
    return tuple(path for path in folders if not PurePath(path).is_relative_to(root))


def _hidden(
    config: SandboxConfig, status: LevelStatus, granted: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the service's folders inside a granted one."""
    found = tuple(
        folder
        for folder in config.hidden
        if any(PurePath(folder).is_relative_to(root) for root in granted)
    )
    inside = [root for root in granted if any(PurePath(root).is_relative_to(f) for f in found)]
    if found and ("namespaces" not in status.layers or inside):
        raise sandbox_unavailable(
            f"The workspace contains the service's own folder {found[0]!r}, which "
            "cannot be hidden here: choose a workspace outside TOLLGATE_DATA_DIR"
        )
    return found


def _ports(config: SandboxConfig, status: LevelStatus, network: Network) -> tuple[int, ...]:
    if "landlock-net" not in status.layers:
        return ()  # nothing could restrict programs to these ports
    return tuple(port for port in network.tcp_ports if port not in config.own_ports)


def served_ports(status: LevelStatus, network: Network) -> tuple[int, ...]:
    """Return the ports that lead to the egress proxy; empty if nothing may be reached by name.

    Without namespaces there is no private network in which it could serve.
    """
    if not network.hosts or network.tcp_ports or "namespaces" not in status.layers:
        return ()
    return tuple(sorted({*network.hosts.ports, *_USUAL_PORTS, PROXY_PORT}))


def _least(wanted: int | None, most: int) -> int:
    return most if wanted is None else min(wanted, most)
