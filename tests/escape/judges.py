"""What counts as an escape. Each judge looks from outside; what a run prints is no proof.

The one exception is a secret: that cannot be known inside, so that saying it proves reading it.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

from tests.escape.attempt import Attempt, Evidence, Judge
from tests.escape.tree import below

# What only its limit can end lasts 90 s and longer: this has to be less, and far more than what
# a busy machine takes to end a run that has had its time.
_PATIENCE_S = 60.0
_SEEN_FOR = 0.75  # of the time for which something is held
_MEMORY_SLACK = 384 << 20  # what a fast hog adds between two looks of whoever meters it
_DISK_SLACK = 320 << 20
_OWN_MEMORY = 192 << 20  # what the service may need for one run
_JOB = "/memfd:job (deleted)"  # the supervisor's own, which no run is given
_FORBIDDEN_KINDS = (
    "anon_inode:[io_uring]",
    "anon_inode:[perf_event]",
    "anon_inode:[userfaultfd]",
    "anon_inode:bpf",
    "anon_inode:[fanotify]",
    "anon_inode:[fscontext]",
    "anon_inode:inotify",
    "/memfd:",
    "/secretmem",
    "/dev/fuse",
    "/dev/kmsg",
    "/dev/mem",
    "/dev/port",
    "/dev/sd",
    "/dev/vd",
    "/dev/nvme",
    "/proc/kcore",
    "/dev/vsock",
    "socket:ALG",
    "socket:PACKET",
    "socket:RAW",
    "socket:AF_VSOCK",
    "socket:MPTCP",
    "socket:UDP-Lite",
    "socket:NETLINK",
    "socket:PING",
    "socket:SCTP",
    "socket:XDP",
    "socket:SMC",
    "socket:TIPC",
    "socket:KCM",
    "socket:RXRPC",
    "socket:CAN",
    "socket:RDS",
    "socket:QIPCRTR",
    "socket:LLC",
    "socket:BT",
)


def secret_reported(evidence: Evidence) -> str | None:
    reported = [
        name
        for name, value in evidence.world.secrets.items()
        if value.encode() in evidence.outcome.said
    ]
    return f"the secrets of {reported} came out" if reported else None


def outside_changed(evidence: Evidence) -> str | None:
    changed = evidence.world.changes()
    return f"changed outside: {changed}" if changed else None


def canary_reached(evidence: Evidence) -> str | None:
    reached = evidence.world.canaries.reached()
    return f"reached {reached}" if reached else None


def port_opened(evidence: Evidence) -> str | None:
    return "was reachable on a port" if evidence.sightings.listened else None


def victim_touched(evidence: Evidence) -> str | None:
    changes = set(evidence.world.victim.changes()) | evidence.sightings.touched
    return f"the victim: {sorted(changes)}" if changes else None


def service_signalled(evidence: Evidence) -> str | None:
    return "the service got a signal" if evidence.sightings.signalled else None


def terminal_written(evidence: Evidence) -> str | None:
    received = evidence.world.terminal_received()
    return f"the operator's terminal got {received!r}" if received else None


def process_left(evidence: Evidence) -> str | None:
    left = evidence.sightings.left
    return f"still runs: {left}" if left else None


def time_overrun(evidence: Evidence) -> str | None:
    outcome, limit = evidence.outcome, evidence.limits.wall_s
    if outcome.overran or outcome.wall_s > limit + _PATIENCE_S:
        return f"took {outcome.wall_s:.1f} s of {limit:.0f}"
    return None


def memory_overused(evidence: Evidence) -> str | None:
    return _over(
        "memory", evidence.sightings.memory_bytes, evidence.limits.memory_bytes, _MEMORY_SLACK
    )


def disk_overused(evidence: Evidence) -> str | None:
    used = max(evidence.sightings.written_bytes, evidence.sightings.disk_bytes)
    return _over("disk", used, evidence.limits.disk_bytes, _DISK_SLACK)


def files_overused(evidence: Evidence) -> str | None:
    limit = evidence.limits.files
    return _over("files", evidence.sightings.files, limit, limit // 2)


def processes_overused(evidence: Evidence) -> str | None:
    return _over("processes", evidence.sightings.processes, evidence.limits.processes, 24)


def descriptors_overused(evidence: Evidence) -> str | None:
    return _over("descriptors", evidence.sightings.descriptors, evidence.limits.open_files, 600)


def output_overused(evidence: Evidence) -> str | None:
    limit = evidence.limits.output_bytes
    return _over("output", evidence.outcome.delivered, limit, 8 << 20)


def service_harmed(evidence: Evidence) -> str | None:
    """The one who ran it failed, lost its supervisor, or was made to hold too much."""
    outcome = evidence.outcome
    if outcome.fault or outcome.reason == "lost":
        return f"the service: {outcome.fault or 'lost its supervisor'}"
    return _over("service's memory", evidence.sightings.own_memory_bytes, 0, _OWN_MEMORY)


def kernel_object_held(evidence: Evidence) -> str | None:
    """Something of the kernel that ordinary programs have no use for."""
    kinds = evidence.sightings.kinds - {_JOB}
    held = sorted(kind for kind in kinds if kind.startswith(_FORBIDDEN_KINDS))
    return f"held {held}" if held else None


def personality_changed(evidence: Evidence) -> str | None:
    return "changed its personality" if evidence.sightings.personality else None


def namespace_made(evidence: Evidence) -> str | None:
    """A namespace more than such a run has anyway."""
    usual, seen = evidence.usual_namespaces, evidence.sightings.namespaces
    made = [kind for kind, count in seen.items() if count > usual.get(kind, 0)]
    return f"made namespaces: {made}" if made else None


def system_setting_changed(evidence: Evidence) -> str | None:
    return "changed a setting of the system" if evidence.world.setting_changed() else None


def trap_set(evidence: Evidence) -> str | None:
    """A file in the workspace with which others could become somebody else."""
    for path in below(evidence.world.ws):
        with suppress(OSError):
            status = path.lstat()
            if stat.S_ISREG(status.st_mode) and status.st_mode & (stat.S_ISUID | stat.S_ISGID):
                return f"{path.name} is set-id"
            if stat.S_ISCHR(status.st_mode) or stat.S_ISBLK(status.st_mode):
                return f"{path.name} is a device"
            if "security.capability" in os.listxattr(path, follow_symlinks=False):
                return f"{path.name} has capabilities"
            if path.name.startswith("core"):
                return f"{path.name} is a core dump"
    return None


def outside_linked(evidence: Evidence) -> str | None:
    """A file of outside is also one of the workspace now."""
    foreign = {path.lstat().st_ino for path in evidence.world.outside.rglob("*")}
    for path in below(evidence.world.ws):
        with suppress(OSError):
            if path.lstat().st_ino in foreign:
                return f"{path.name} is a file from outside"
    return None


def kernel_memory_left(evidence: Evidence) -> str | None:
    """System V memory, messages or semaphores, or a key, that outlive the run."""
    key = str(evidence.world.key)
    for table in ("shm", "msg", "sem"):
        lines = Path(f"/proc/sysvipc/{table}").read_text().splitlines()[1:]
        if any(line.split()[0] == key for line in lines):
            return f"left a System V {table}"
    if f"esc{evidence.world.token}" in Path("/proc/keys").read_text():
        return "left a key"
    return None


def folders_left(evidence: Evidence) -> str | None:
    """Private folders that were not taken away."""
    left = [path for path in evidence.world.private.glob("*/*") if path.name != ".lock"]
    return f"left {[path.name for path in left]}" if left else None


def _over(what: str, used: int, limit: int, slack: int) -> str | None:
    return f"used {used:,} of {limit:,} {what}" if used > limit + slack else None


EVERY_JUDGE: tuple[Judge, ...] = (
    secret_reported,
    outside_changed,
    canary_reached,
    port_opened,
    victim_touched,
    service_signalled,
    terminal_written,
    process_left,
    time_overrun,
    memory_overused,
    disk_overused,
    files_overused,
    processes_overused,
    descriptors_overused,
    output_overused,
    service_harmed,
    kernel_object_held,
    personality_changed,
    namespace_made,
    system_setting_changed,
    trap_set,
    outside_linked,
    kernel_memory_left,
    folders_left,
)


def why_unknown(attempt: Attempt, evidence: Evidence) -> str | None:
    """Why a run without harm would prove nothing; None when it does.

    What is refused before its first line may end by itself without having begun, not otherwise.
    """
    outcome, sightings = evidence.outcome, evidence.sightings
    if outcome.unknown is not None:
        return outcome.unknown
    may_be_refused = attempt.raw or not attempt.begins
    if not outcome.begun and not (may_be_refused and outcome.reason == "exited"):
        return f"it never came to its first line, and ended by {outcome.reason}"
    if attempt.holds and sightings.longest_gap_s > _SEEN_FOR * evidence.limits.hold_s:
        return f"nobody looked at it for {sightings.longest_gap_s:.1f} s"
    return None


def judged(evidence: Evidence) -> dict[str, str]:
    """Every harm that was done, by the name of its judge."""
    found = {judge.__name__: judge(evidence) for judge in EVERY_JUDGE}
    return {name: what for name, what in found.items() if what is not None}
