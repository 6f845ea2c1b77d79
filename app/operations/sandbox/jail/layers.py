"""Names of the layers, as reported in results."""

from __future__ import annotations

from app.operations.sandbox.jail.job import Policy

LANDLOCK_FILES, LANDLOCK_NETWORK = "landlock-fs", "landlock-net"
LANDLOCK_SCOPE = "landlock-scope"
LANDLOCK = (LANDLOCK_FILES, LANDLOCK_NETWORK, LANDLOCK_SCOPE)
SECCOMP = "seccomp"
GUARD = "metadata-guard"
NAMESPACES = "namespaces"
UID_DROP = "uid-drop"
CAPABILITIES = "caps-dropped"
LIMITS, NO_NEW_PRIVILEGES = "rlimits", "no_new_privs"

# in the order of installation
ALL = (
    *(UID_DROP, NAMESPACES, CAPABILITIES, LIMITS, NO_NEW_PRIVILEGES),
    *(*LANDLOCK, GUARD, SECCOMP),
)
_AGAINST_METADATA = (NAMESPACES, UID_DROP, GUARD)


def missing(policy: Policy) -> list[str]:
    """Return the layers of the level that `policy` does not request.

    Namespaces, another user or the metadata guard each protect modes and times outside; without any
    of them, the guard is reported missing.
    """
    wanted = [*LANDLOCK, SECCOMP]
    if policy.forks and not any(name in policy.layers for name in _AGAINST_METADATA):
        wanted.append(GUARD)
    return [name for name in wanted if name not in policy.layers]
