"""Which addresses of the network a page may come from."""

from __future__ import annotations

import ipaddress

_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_NAT64_LOCAL = ipaddress.ip_network("64:ff9b:1::/48")

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def is_public(address: str) -> bool:
    """Whether an IP address is of the public Internet, whatever it is wrapped in."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(parsed, ipaddress.IPv6Address):
        if (inner := _carried(parsed)) is not None:
            return _is_global(inner)
        tunnelled = [parsed.sixtofour, *(parsed.teredo or ())]
        if not all(_is_global(end) for end in tunnelled if end is not None):
            return False
    return _is_global(parsed)


def _is_global(address: Address) -> bool:
    return address.is_global and not address.is_multicast and not address.is_reserved


def _carried(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """The IPv4 address that an IPv6 address is only another way to write."""
    if address in _NAT64 or address in _NAT64_LOCAL:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped
