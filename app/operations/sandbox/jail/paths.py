"""Readable and writable paths of each level, as rules for Landlock."""

from __future__ import annotations

import os
import sys

from app.operations.sandbox.jail import landlock
from app.operations.sandbox.jail.job import Policy

Rule = tuple[str, int]

_PROGRAMS = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64")
_LIBRARIES = ("/usr/lib", "/usr/lib64", "/lib", "/lib64", "/usr/share/zoneinfo")
_LOADER = ("/etc/ld.so.cache", "/etc/localtime", "/etc/timezone")
# contains no names of users or hosts, and no secrets
_SETTINGS = tuple(
    f"/etc/{name}"
    for name in (
        *("alternatives", "bash.bashrc", "profile", "inputrc", "terminfo", "vim", "gitconfig"),
        *("ld.so.conf", "ld.so.conf.d", "mime.types", "magic", "python3.11", "java-17-openjdk"),
        *("ssl/certs", "ssl/openssl.cnf", "ca-certificates", "ca-certificates.conf"),
        *("pki/tls", "pki/ca-trust", "fonts", "locale.alias", "locale.conf", "debian_version"),
        *("os-release", "shells", "nsswitch.conf", "protocols"),
    )
)
_PRIVATE = ("/etc/hosts", "/etc/resolv.conf")
_ACCOUNTS = ("/etc/passwd", "/etc/group")
_NAMES = ("/etc/host.conf", "/etc/gai.conf", "/etc/services")
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_TERMINAL = "/dev/tty"
_PROC, _SHARED_MEMORY = "/proc", "/dev/shm"  # noqa: S108 - the tree's own when it is listed


def rules(policy: Policy, *, own: tuple[str, ...], terminal: bool) -> tuple[Rule, ...]:
    """Return the paths of a level with their rights.

    Args:
        own: which of `/proc`, `/dev/shm` and files in `/etc` are private to the tree.
        terminal: whether it has a controlling terminal.
    """
    if policy.level == "strict":
        return ()
    if policy.level == "standard":
        readable = (*_LIBRARIES, *_LOADER, *python_folders(), *policy.readable)
        return tuple((path, landlock.READ) for path in readable)
    return tuple(_ordinary(policy, own=own, terminal=terminal))


def python_folders() -> tuple[str, ...]:
    """Return the folders of this Python's modules and libraries."""
    return tuple(dict.fromkeys([os.path.dirname(os.__file__), f"{sys.base_prefix}/lib"]))  # noqa: PTH120


def _ordinary(policy: Policy, *, own: tuple[str, ...], terminal: bool) -> list[Rule]:
    programs = (*_PROGRAMS, sys.base_prefix, *policy.readable)
    found = [(path, landlock.READ_EXECUTE) for path in programs]
    found += [(path, landlock.READ) for path in (*_LOADER, *_SETTINGS)]
    found += [(path, landlock.DEVICE) for path in _DEVICES]
    if policy.tcp_ports or policy.udp:
        found += [(path, landlock.READ) for path in (*_NAMES, *_PRIVATE)]
    if policy.served_ports:
        found += [(path, landlock.READ) for path in _NAMES]
    if terminal:
        found.append((_TERMINAL, landlock.TERMINAL))
    if _PROC in own:
        found.append((_PROC, landlock.READ))
    found += [(path, landlock.READ) for path in (*_PRIVATE, *_ACCOUNTS) if path in own]
    if _SHARED_MEMORY in own:
        found.append((_SHARED_MEMORY, landlock.WRITE))
    found += [(path, landlock.WRITE_EXECUTE) for path in policy.writable]
    if policy.temporary is not None:  # it is also mounted elsewhere, without anything above it
        found.append((policy.temporary, landlock.WRITE_EXECUTE))
    found += [(path, landlock.READ) for path in policy.exact]
    return found
