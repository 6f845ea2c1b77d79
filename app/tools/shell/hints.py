"""Hints about permissions that only the operator can grant, with the name of the setting."""

from __future__ import annotations

import re

from app.operations.protocols.processes import ProcessExit

NO_NETWORK = (
    "No network: the command tried to reach an external address, which commands of "
    "this project cannot do. The operator can open ports: `tcp_ports` of the project, "
    "for the default project TOLLGATE_SANDBOX__TCP_PORTS=53,443. Retrying does not "
    "help"
)
NO_AUTHOR = (
    "git has no author here: the operator can set TOLLGATE_SANDBOX__GIT_NAME and "
    "TOLLGATE_SANDBOX__GIT_EMAIL; for one command: git -c user.name=NAME -c "
    "user.email=MAIL"
)
_OWN_NETWORK, _MACHINES_NETWORK = "namespaces", "landlock-net"
_LOOKED_AT = 4_000
# For cases without kernel counters: the machine's network, and refused sockets.
_CUT_OFF = re.compile(
    r"could not resolve host|name or service not known|temporary failure in name resolution"
    r"|getaddrinfo|eai_again|network is unreachable|enetunreach|no such host"
    r"|failed to lookup address|dial (?:tcp|udp)|socket: operation not permitted"
    r"|connection (?:timed out|refused).{0,80}port \d+|failed to connect to \S+ port",
    re.IGNORECASE,
)
_AUTHOR = re.compile(
    r"please tell me who you are|empty ident name|no email was given", re.IGNORECASE
)


def hints(ended: ProcessExit | None, stdout: str, stderr: str) -> str:
    """Return one line for each missing permission; usually empty.

    Args:
        ended: exit of the command; None if it was stopped.
    """
    said = f"{stdout[-_LOOKED_AT:]}\n{stderr[-_LOOKED_AT:]}"
    failed = ended is None or ended.code != 0
    found = []
    if _lacked_network(ended, said, failed=failed):
        found.append(NO_NETWORK)
    if failed and _AUTHOR.search(said):
        found.append(NO_AUTHOR)
    return "\n".join(found)


def _lacked_network(ended: ProcessExit | None, said: str, *, failed: bool) -> bool:
    """Return whether the command failed because it had no network access.

    In a separate network the kernel counts attempts; otherwise the error messages decide.
    """
    if ended is not None and _OWN_NETWORK in ended.sandbox.layers:
        own = _MACHINES_NETWORK not in ended.sandbox.layers
        if own and not ended.sought_network:
            return False
        if own and failed:
            return True
    return _CUT_OFF.search(said) is not None
