"""Classification of network addresses as public, and notations of hosts."""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
OwnPorts = Callable[[], frozenset[int]]
"""Read on each request: a service on a random port learns it late."""

ANYWHERE: tuple[Network, ...] = (
    ipaddress.ip_network("0.0.0.0/0"),
    ipaddress.ip_network("::/0"),
)

# IANA's special purpose address registries, without entries marked as globally reachable; listed
# here because Python's own list differs between releases.
_NOT_PUBLIC = tuple(
    ipaddress.ip_network(text)
    for text in (
        *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16"),
        *("172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16"),
        *("198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"),
        # Metadata and control service of a cloud, at an address that looks public.
        "168.63.129.16/32",
        *("2001::/23", "2001:db8::/32", "3fff::/20", "5f00::/16"),
    )
)
_GLOBAL_V6 = ipaddress.ip_network("2000::/3")
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
# Marker in the last half of an address whose rest is an IPv4 address (ISATAP).
_ISATAP = frozenset({0x00005EFE, 0x02005EFE})
_NUMBER = re.compile(r"0[xX][0-9a-fA-F]*|[0-9]+")


@dataclass(frozen=True, slots=True)
class Reach:
    """Allowed addresses of requests.

    Attributes:
        allowed: allowed networks that are not public.
        own_ports: returns the ports on which this service listens: blocked here, and on other
            non-public machines, which may be this one under another name.
    """

    allowed: tuple[Network, ...] = ()
    own_ports: OwnPorts = frozenset

    def refuses(self, address: str, port: int) -> str | None:
        """Return why an address is refused, as the end of a sentence, or None."""
        try:
            parsed = ipaddress.ip_address(address.partition("%")[0])
        except ValueError:
            return "which is not an address"
        parsed = _carried(parsed) or parsed
        public = is_public(address)
        here = public and is_here(parsed)
        if port in self.own_ports() and (here or not public):
            return "where this service may be listening"
        if any(parsed in network for network in self.allowed):
            return None
        if here:
            return "which is this machine"
        return None if public else "which is not on the public Internet"


def is_public(address: str) -> bool:
    """Return whether an IP address is public, in any embedding."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    parsed = _carried(parsed) or parsed
    if isinstance(parsed, ipaddress.IPv4Address):
        return _is_global(parsed)
    ends = [parsed.sixtofour, *(parsed.teredo or ())]
    low = int(parsed) & 0xFFFFFFFFFFFFFFFF
    if low >> 32 in _ISATAP:
        ends.append(ipaddress.IPv4Address(low & 0xFFFFFFFF))
    return _is_global(parsed) and all(_is_global(end) for end in ends if end is not None)


def is_here(address: Address) -> bool:
    """Return whether an address belongs to this machine, by asking the kernel; sends nothing."""
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
        # Connecting a datagram socket only selects a route: to itself, from the same address.
        probe.connect((str(address), 9))
        return str(probe.getsockname()[0]).partition("%")[0] == str(address)
    return False


def written_address(host: str) -> str | None:
    """Return the IPv4 address in a host name, in any notation that C libraries accept; None for a
    name.

    `2130706433`, `0177.1`, `0x7f.0.0.1` and `127.1` are all `127.0.0.1`.

    Raises:
        ValueError: the last label is a number, and it is not an address.
    """
    labels = host.split(".")
    if not _NUMBER.fullmatch(labels[-1]):
        return None
    if len(labels) > 4:
        raise ValueError(host)
    numbers = [_number(label) for label in labels]
    last = numbers.pop()
    if any(number > 255 for number in numbers) or last >= 256 ** (4 - len(numbers)):
        raise ValueError(host)
    value = last + sum(number << (24 - 8 * place) for place, number in enumerate(numbers))
    return str(ipaddress.IPv4Address(value))


def _number(label: str) -> int:
    if not _NUMBER.fullmatch(label) or len(label) > 40:
        raise ValueError(label)
    if label[:2].lower() == "0x":
        return int(label[2:] or "0", 16)
    return int(label, 8 if len(label) > 1 and label[0] == "0" else 10)


def _is_global(address: Address) -> bool:
    if any(address in network for network in _NOT_PUBLIC):
        return False
    if isinstance(address, ipaddress.IPv6Address):
        return address in _GLOBAL_V6
    return address.is_global


def _carried(address: Address) -> ipaddress.IPv4Address | None:
    """Return the IPv4 address embedded in an IPv6 address, or None."""
    if isinstance(address, ipaddress.IPv4Address):
        return None
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped
