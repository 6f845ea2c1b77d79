"""Supervisor of one run: prepares the environment, watches the tree, ends it and reports the
result.

It is out of the payload's reach (its Landlock domain encloses the payload's). The service controls
it through a pipe, the leash: when that closes, the tree ends, even if the service was killed. It
outlives the zygote.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import NoReturn

from app.operations.sandbox.jail import (
    capabilities,
    kernel,
    landlock,
    layers,
    namespaces,
    network,
    payload,
    temporary,
)
from app.operations.sandbox.jail.confine import JailEnvironment
from app.operations.sandbox.jail.descriptors import Wires, close_all_but, place, say
from app.operations.sandbox.jail.job import ENDED, Job, Policy
from app.operations.sandbox.jail.meter import Meter
from app.operations.sandbox.jail.procfs import ProcFs
from app.operations.sandbox.jail.reaper import TreeReaper
from app.operations.sandbox.jail.watch import Ears, StopCause, Watch

_INIT = 1
_FIRST_SERVED = -10
_SETUP, _TIMEOUT, _EXITED = "setup", "timeout", "exited"
_FIRST_TO_END = "800"


@dataclass(frozen=True, slots=True)
class Origin:
    """Parameters of the fork of this supervisor.

    Attributes:
        contained: into separate namespaces.
        users: including a user namespace.
        uid, gid: previous user and group.
        proc: the zygote's /proc.
    """

    contained: bool
    users: bool
    uid: int
    gid: int
    proc: int


@dataclass(frozen=True, slots=True)
class _Stage:
    """Environment of the payload before it starts.

    Attributes:
        proc: the machine's /proc, or its visible part.
        installed: already installed layers.
        own: which of `/proc`, `/dev/shm` and files in `/etc` are private to the tree.
        loopback: whether the tree has a private network.
        nice: priority of the payload, equal to the service's.
    """

    proc: ProcFs
    installed: tuple[str, ...]
    own: tuple[str, ...]
    loopback: bool
    nice: int


def supervise(job: Job, wires: Wires, origin: Origin) -> NoReturn:
    """Run `job` to its end and report on its status pipe; never returns."""
    parents = {_INIT, os.getppid(), job.service_pid} - {0}
    try:
        stage = _surround(job, wires, origin)
        # Before the tree starts: on a busy machine it may write a lot before anybody looks.
        meter = Meter(job.policy, stage.proc)
        ears = _start(job, wires, stage, contained=origin.contained)
        scoped = layers.LANDLOCK_SCOPE in stage.installed
        ending = TreeReaper(
            stage.proc, contained=origin.contained, scoped=scoped, protected=list(parents)
        )
        watch = Watch(job, ears, meter, ending, stage.installed)
        verdict = watch.until_the_end()
    except Exception as error:  # noqa: BLE001 - the service waits for an answer
        say(wires.status, event=ENDED, reason=_SETUP, error=str(error) or type(error).__name__)
        os._exit(1)
    sought = stage.loopback and stage.proc.sought_elsewhere()
    _end(watch, verdict, ending, wires.status, sought_network=sought)
    os._exit(0)


def _surround(job: Job, wires: Wires, origin: Origin) -> _Stage:
    """Install the layers that this process shares with its tree.

    Raises:
        OSError: a layer cannot be installed.
    """
    policy = job.policy
    installed: list[str] = []
    own: tuple[str, ...] = ()
    loopback = False
    os.setpgid(0, 0)
    nice = os.getpriority(os.PRIO_PROCESS, 0)
    with suppress(OSError):  # only root may
        # A fork bomb takes the processor from the process that must end it.
        os.setpriority(os.PRIO_PROCESS, 0, _FIRST_SERVED)
    kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)
    proc = ProcFs(origin.proc)  # opened before anything was made read-only
    if origin.contained:
        if origin.users:
            namespaces.settle(proc, origin.uid, origin.gid)
        _volunteer_for_the_end(proc)
        own, loopback = _own_machine(policy, wires.egress)
        installed.append(layers.NAMESPACES)
    elif policy.hidden or policy.served_ports:
        lacking = "hidden folders" if policy.hidden else "a private network"
        raise PermissionError(f"{lacking}: require namespaces")
    if policy.uid is not None and os.geteuid() == 0:
        capabilities.become(policy.uid)
        kernel.prctl(kernel.PR_SET_DUMPABLE, 1)  # so that the meter can read the payload's /proc
        installed.append(layers.UID_DROP)
        if origin.contained:
            namespaces.separate_users(proc)
    elif layers.UID_DROP in policy.layers:
        raise PermissionError("uid-drop: requires root")
    if layers.LANDLOCK_SCOPE in policy.layers:
        kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
        landlock.restrict(landlock.Domain(scope=True))
        installed.append(layers.LANDLOCK_SCOPE)
    capabilities.drop()  # it acts on files for the payload
    return _Stage(proc, tuple(installed), own, loopback, nice)


def _own_machine(policy: Policy, egress: int | None) -> tuple[tuple[str, ...], bool]:
    """Set up the tree's private files and network; return private parts of `/proc` and `/dev/shm`,
    and whether it has a loopback.

    Args:
        egress: socket to the proxy that serves its network, if any.

    Raises:
        OSError: as the kernel answers, or the proxy has ended.
    """
    loopback = not policy.tcp_ports  # otherwise it is in the machine's network
    if loopback:
        namespaces.raise_loopback()
        if egress is not None:
            network.lead_everything_here()
            network.serve_outside(egress, policy.served_ports)
    namespaces.separate_files()
    places: tuple[str, ...] = ()
    if policy.temporary is not None:
        if policy.cache is not None:
            temporary.mount_cache(policy.cache, policy.temporary, policy.uid)
        needed = (*policy.writable, *policy.mounted, *policy.readable, *policy.exact)
        places = temporary.put_over(
            policy.temporary,
            (*needed, sys.base_prefix),
            unrun=policy.exact,
            narrowed=bool(policy.mounted),
        )
    own = namespaces.furnish(
        *(policy.mounted or policy.writable, policy.tasks, policy.hidden, policy.read_only),
        temporary=places,
        files=_own_files(policy) if loopback else {},
    )
    return own, loopback


def _own_files(policy: Policy) -> dict[str, str]:
    """Return the files in `/etc` of a tree with a private network."""
    files = {namespaces.HOSTS: namespaces.OWN_HOSTS}
    if policy.served_ports:
        uid, gid = os.geteuid(), os.getegid()
        if policy.uid is not None and uid == 0:
            uid = gid = policy.uid
        files[namespaces.NAME_SERVERS] = network.NAME_SERVER
        files |= namespaces.accounts(uid, gid, policy.temporary or "/")
    return files


def _start(job: Job, wires: Wires, stage: _Stage, *, contained: bool) -> Ears:
    """Fork the payload and release everything that belongs to the tree."""
    confirm, theirs = os.pipe()
    guard: socket.socket | None = None
    guard_theirs: socket.socket | None = None
    if layers.GUARD in job.policy.layers and job.policy.forks and not contained:
        guard, guard_theirs = socket.socketpair()
    own = os.getpid()
    top = os.fork()
    if top == 0:
        os.setpriority(os.PRIO_PROCESS, 0, stage.nice)
        if not contained:
            _die_with(own, stage.proc)
        listener = None if guard_theirs is None else guard_theirs.fileno()
        around = JailEnvironment(
            namespaces=contained, own=stage.own, loopback=stage.loopback, guard=listener
        )
        payload.become(job, wires, theirs, around)
    numbers = stage.proc.children(stage.proc.own)
    _let_go()
    kept = [0, 1, 2, wires.status, wires.leash, confirm, stage.proc.descriptor]
    kept += [] if guard is None else [guard.fileno()]
    # The proxy ends the tree's connections when this process has ended.
    kept += [] if wires.egress is None else [wires.egress]
    bringer = None if guard is None else guard.detach()
    if guard_theirs is not None:
        guard_theirs.detach()  # closed with the rest
    close_all_but(kept)
    return Ears(
        top=top,
        number=numbers[0] if numbers else 0,
        status=wires.status,
        leash=wires.leash,
        confirm=confirm,
        guard=bringer,
    )


def _die_with(supervisor: int, proc: ProcFs) -> None:
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != supervisor:
        os._exit(1)
    _volunteer_for_the_end(proc)


def _volunteer_for_the_end(proc: ProcFs) -> None:
    """Make this process the first victim when the machine runs out of memory."""
    with suppress(OSError):
        proc.write("oom_score_adj", _FIRST_TO_END)


def _let_go() -> None:
    """Close the payload's streams, so that they end with the tree."""
    nothing = os.open("/dev/null", os.O_RDWR)
    place(dict.fromkeys((0, 1, 2), nothing))


def _end(
    watch: Watch, verdict: StopCause, ending: TreeReaper, status: int, *, sought_network: bool
) -> None:
    exited = verdict.reason == _EXITED
    orphans = ending.still_running(watch.ears.number) if exited else 0
    method = ending.finish(watch.remains)
    if verdict.reason == _SETUP:
        say(status, event=ENDED, reason=_SETUP, error=verdict.error)
        return
    waited = watch.remains.statuses.get(watch.ears.top)
    code = os.waitstatus_to_exitcode(waited) if waited is not None else -signal.SIGKILL
    exhausted = exited and code == -signal.SIGXCPU
    say(
        status,
        event=ENDED,
        code=code if code >= 0 else None,
        signal=-code if code < 0 else None,
        reason=_TIMEOUT if exhausted else verdict.reason,
        kill=method,
        orphans=orphans,
        peak_bytes=max(watch.meter.peak_bytes, watch.remains.peak_bytes),
        cpu_s=round(watch.remains.cpu_s, 4),
        wall_s=round(time.monotonic() - watch.clock, 4),
        written_bytes=watch.meter.written_bytes(),
        sought_network=sought_network,
    )
