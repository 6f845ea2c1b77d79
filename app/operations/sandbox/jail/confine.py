"""Confinement layers applied in the payload itself, in order."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from app.operations.sandbox.jail import (
    capabilities,
    filters,
    guard,
    kernel,
    landlock,
    layers,
    limits,
    paths,
    seccomp,
)
from app.operations.sandbox.jail.job import Policy


class LayerFailed(Exception):
    """A required layer could not be installed; nothing may run."""


@dataclass(frozen=True, slots=True)
class JailEnvironment:
    """Environment of the payload before it confines itself.

    Attributes:
        namespaces: whether it has separate namespaces.
        own: which of `/proc` and `/dev/shm` are private to its tree.
        loopback: whether its tree has a private network without connections.
        terminal: whether it has a controlling terminal.
        guard: socket that passes the listener to the metadata guard.
    """

    namespaces: bool = False
    own: tuple[str, ...] = ()
    loopback: bool = False
    terminal: bool = False
    guard: int | None = None


@dataclass(slots=True)
class _Installed:
    """Installed layers, in order."""

    names: list[str] = field(default_factory=list)

    @contextmanager
    def layer(self, *names: str) -> Iterator[None]:
        try:
            yield
        except (OSError, ValueError) as error:
            raise LayerFailed(f"{' and '.join(names)}: {error}") from None
        self.names += names


def confine(policy: Policy, around: JailEnvironment, pid: int) -> list[str]:
    """Install the layers of `policy` permanently on this process, whose number is `pid`.

    Returns:
        Their names, in the order of installation.

    Raises:
        LayerFailed: a layer cannot be installed, or the policy lacks the mandatory system call
            filter.
    """
    if layers.SECCOMP not in policy.layers:
        raise LayerFailed("seccomp: the system call filter is required at every level")
    installed = _Installed()
    with installed.layer(layers.CAPABILITIES):
        capabilities.drop()
    with installed.layer(layers.LIMITS):
        limits.apply(policy, own_count=around.namespaces)
    with installed.layer(layers.NO_NEW_PRIVILEGES):
        kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    locks = [name for name in layers.LANDLOCK if name in policy.layers]
    if around.loopback and layers.LANDLOCK_NETWORK in locks:
        locks.remove(layers.LANDLOCK_NETWORK)  # it would close the tree's private network, too
    if locks:
        with installed.layer(*locks):
            landlock.restrict(_domain(policy, around))
    if around.guard is not None:
        with installed.layer(layers.GUARD):
            guard.install(around.guard)
    with installed.layer(layers.SECCOMP):
        seccomp.install(_filter(policy, around, pid))
    return installed.names


def _domain(policy: Policy, around: JailEnvironment) -> landlock.Domain:
    files = None
    if layers.LANDLOCK_FILES in policy.layers:
        files = paths.rules(policy, own=around.own, terminal=around.terminal)
    limited = layers.LANDLOCK_NETWORK in policy.layers and not around.loopback
    connect = policy.tcp_ports if limited else None
    scope = layers.LANDLOCK_SCOPE in policy.layers
    return landlock.Domain(files, connect, scope=scope, exact=frozenset(policy.exact))


def _filter(policy: Policy, around: JailEnvironment, pid: int) -> bytes:
    if policy.forks:
        owners = around.namespaces or around.guard is not None
        network: filters.Network = "own" if around.loopback else "none"
        if policy.tcp_ports:
            network = "ports"
        return filters.ordinary(network=network, udp=policy.udp, owners=owners)
    if policy.level == "standard" and layers.LANDLOCK_FILES in policy.layers:
        return filters.standard(pid)
    return filters.strict(pid)  # also if nothing else would keep standard from files
