"""Job sent from the service to the zygote: JSON in a memory file, with its descriptors.

One message on the zygote's socket (SOCK_SEQPACKET) is one job: the bytes `MESSAGE` and these
descriptors, in this order, by SCM_RIGHTS:

    0 job     a sealed memory file: the JSON of a `Job`
    1 stdin   2 stdout   3 stderr   (the same one three times for a terminal)
    4 status  written by the supervisor: lines of JSON, see `STARTED` and `ENDED`
    5 leash   read by the supervisor: `GO` starts the clock of a parked job, `TERMINATE` asks
              the tree to end, the end of the file ends it at once (even if the service has died)
    6 work    only with `parked`: the payload reads the `Work` JSON here, up to its end
    7 report  only for Python (6 when not parked): the payload writes its report here
    8 egress  only with `served_ports`: the last one, a socket to the network proxy

Neither `status` nor `leash` nor `egress` is ever open in the payload.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any

MESSAGE = b"job"
READY = b"ready"
GO = b"g"
TERMINATE = b"t"
STARTED = "started"  # {"event", "pid", "layers": [...], "missing": [...]}
ENDED = "ended"
# {"event", "code", "signal", "reason", "kill", "orphans", "peak_bytes", "cpu_s", "wall_s",
#  "written_bytes", "sought_network"}
# {"event": "ended", "reason": "setup", "error": "..."} when it never ran


@dataclass(frozen=True, slots=True)
class Policy:
    """Confinement of one process tree.

    Attributes:
        level: strict, standard, lenient or bash.
        layers: layers to install, from the probe; failed ones are reported missing.
        processes: maximum live processes.
        tasks: maximum processes and threads together, as counted by the kernel.
        writable: absolute folders the tree may read, write and execute in.
        readable: further absolute paths it may read and execute.
        mounted: folders to mount as writable if the names in `writable` are unsafe: others could
            replace those with links meanwhile, but not these.
        exact: further real folders it may read, not opened through a link.
        hidden: folders below writable or exact ones that appear empty to the tree; needs
            namespaces.
        read_only: paths below writable ones that it may read but not change, if there are
            namespaces; missing ones are skipped.
        temporary: a writable folder that is also the tree's `/tmp`, if there are namespaces.
        cache: a folder mounted at `.cache` of `temporary`, if there are namespaces; without them,
            and if something else has taken its place, there is none.
        tcp_ports: ports it may connect to; empty for no network except a private loopback, if there
            are namespaces.
        udp: datagrams in addition to `tcp_ports`, for name lookups.
        served_ports: ports on which every address leads to the network proxy, in the private
            network; needs namespaces, and excludes `tcp_ports`.
        uid: user to become if the service is root.
    """

    level: str
    layers: tuple[str, ...]
    wall_s: float | None = None
    cpu_s: int = 60
    memory_bytes: int = 2 << 30
    processes: int = 64
    tasks: int = 64
    file_bytes: int = 256 << 20
    disk_bytes: int = 1 << 30
    inodes: int = 50_000
    disk_floor_bytes: int = 512 << 20
    open_files: int = 512
    writable: tuple[str, ...] = ()
    mounted: tuple[str, ...] = ()
    readable: tuple[str, ...] = ()
    exact: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    read_only: tuple[str, ...] = ()
    temporary: str | None = None
    cache: str | None = None
    tcp_ports: tuple[int, ...] = ()
    udp: bool = False
    served_ports: tuple[int, ...] = ()
    uid: int | None = None

    @property
    def forks(self) -> bool:
        """Return whether the payload may start processes."""
        return self.level in ("lenient", "bash")


@dataclass(frozen=True, slots=True)
class Work:
    """Python to run.

    Attributes:
        modules: allowed modules in addition to the level's own list.
        paths: absolute folders to import from after the standard library.
    """

    code: str
    modules: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Job:
    """One run.

    Attributes:
        argv: the program, absolute path first; None for Python.
        root, cwd: the workspace root and where to start relative to it; `cwd` is opened beneath
            `root`, so that no link leads out.
        work: Python to run; None while parked.
        service_pid: must be out of the tree's reach before killing by wildcard.
    """

    policy: Policy
    root: str
    cwd: str = "."
    argv: tuple[str, ...] | None = None
    env: dict[str, str] = field(default_factory=dict)
    work: Work | None = None
    parked: bool = False
    terminal: bool = False
    service_pid: int = 0


def encode(job: Job | Work) -> bytes:
    return json.dumps(asdict(job)).encode("utf-8", "surrogatepass")


def decode(data: bytes) -> Job:
    raw = json.loads(data.decode("utf-8", "surrogatepass"))
    raw["policy"] = Policy(**_tuples(raw["policy"]))
    work = raw["work"]
    raw["work"] = decode_work(work) if work else None
    return Job(**_tuples(raw))


def decode_work(raw: dict[str, Any]) -> Work:
    return Work(**_tuples(raw))


def _tuples(raw: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in raw.items()}
