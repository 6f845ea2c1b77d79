"""Private network in which every address leads to sockets that are served outside.

A socket belongs to the network namespace in which it was made, whoever holds it. So the listening
sockets are made here and given to a proxy outside the sandbox, which accepts on them; the tree has
no other way out of its namespace.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack

READY = b"ready"
SOCKETS, LAST = b"sockets", b"last"
NAME_SERVER = "nameserver 127.0.0.1\noptions timeout:5 attempts:1\n"
_NAMES = 53
_BACKLOG = 512
_IP_PKTINFO = 8  # linux/in.h
_AT_ONCE = 32  # descriptors of one message
_ANSWER_LIMIT_S = 30

# One route per family: local default dev lo table local (linux/rtnetlink.h).
_LOOPBACK = 1
_NEW_ROUTE = 24
_REQUEST_CREATE = 0x1 | 0x4 | 0x400
_ROUTE_LOCAL, _BY_BOOT, _OF_MACHINE = 2, 3, 254
_TABLE_LOCAL = 255
_TO_DEVICE, _IN_TABLE = 4, 15


def lead_everything_here() -> None:
    """Make every address one of this namespace's own; after `raise_loopback`.

    Raises:
        OSError: as the kernel answers.
    """
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, 0) as kernel:
        for family in (socket.AF_INET, socket.AF_INET6):
            try:
                _add_route(kernel, family)
            except OSError:
                if family == socket.AF_INET:
                    raise  # IPv6 may be switched off


def serve_outside(control: int, ports: Sequence[int]) -> None:
    """Open listening sockets on `ports` and for name lookups, and give them to the proxy.

    Args:
        control: connected socket (SOCK_SEQPACKET) to the proxy. It stays open: the proxy ends the
            tree's connections when it closes.

    Raises:
        OSError: a socket cannot be opened, or the proxy has ended.
    """
    with ExitStack() as closing:
        opened = [closing.enter_context(one) for one in _listening(ports)]
        channel = socket.socket(fileno=socket.dup(control))
        closing.enter_context(channel)
        channel.settimeout(_ANSWER_LIMIT_S)
        descriptors = [one.fileno() for one in opened]
        for first in range(0, len(descriptors), _AT_ONCE):
            part = descriptors[first : first + _AT_ONCE]
            message = LAST if first + _AT_ONCE >= len(descriptors) else SOCKETS
            socket.send_fds(channel, [message], part)
        if channel.recv(len(READY)) != READY:
            raise ConnectionResetError("the network proxy has ended")


def _listening(ports: Iterable[int]) -> Iterator[socket.socket]:
    for port in sorted({*ports, _NAMES}):
        yield _bound(socket.SOCK_STREAM, port)
    yield _bound(socket.SOCK_DGRAM, _NAMES)


def _bound(kind: int, port: int) -> socket.socket:
    """Return a socket for both families, or for IPv4 if there is no other."""
    try:
        one = socket.socket(socket.AF_INET6, kind | socket.SOCK_CLOEXEC)
    except OSError:
        one = socket.socket(socket.AF_INET, kind | socket.SOCK_CLOEXEC)
    try:
        if one.family == socket.AF_INET6:
            one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        if kind == socket.SOCK_STREAM:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        elif one.family == socket.AF_INET6:  # an answer must come from the address that was asked
            one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVPKTINFO, 1)
        else:
            one.setsockopt(socket.IPPROTO_IP, _IP_PKTINFO, 1)
        one.bind(("::" if one.family == socket.AF_INET6 else "0.0.0.0", port))  # noqa: S104
        if kind == socket.SOCK_STREAM:
            one.listen(_BACKLOG)
    except BaseException:
        one.close()
        raise
    return one


def _add_route(kernel: socket.socket, family: int) -> None:
    scope = _OF_MACHINE if family == socket.AF_INET else 0
    route = struct.pack(
        "BBBBBBBBI", family, 0, 0, 0, _TABLE_LOCAL, _BY_BOOT, scope, _ROUTE_LOCAL, 0
    )
    route += struct.pack("HHI", 8, _TO_DEVICE, _LOOPBACK)
    route += struct.pack("HHI", 8, _IN_TABLE, _TABLE_LOCAL)
    kernel.send(struct.pack("IHHII", 16 + len(route), _NEW_ROUTE, _REQUEST_CREATE, 1, 0) + route)
    answer = kernel.recv(4096)
    (failure,) = struct.unpack_from("i", answer, 16)
    if failure:
        raise OSError(-failure, "route")
