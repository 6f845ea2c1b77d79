"""Addresses that stand for names inside one sandbox.

A program looks a name up and connects to the answer. It is given an address of a range that is
never routed (RFC 2544), so that the proxy knows which name was meant.
"""

from __future__ import annotations

import ipaddress

_FIRST = int(ipaddress.IPv4Address("198.18.0.10"))
_MOST_NAMES = 10_000


class SyntheticAddresses:
    """Names and their addresses, both ways."""

    def __init__(self) -> None:
        self._by_name: dict[str, str] = {}
        self._by_address: dict[str, str] = {}

    def address_of(self, name: str) -> str | None:
        """Return the address of a normalised name; None once there are too many names."""
        found = self._by_name.get(name)
        if found is None and len(self._by_name) < _MOST_NAMES:
            found = str(ipaddress.IPv4Address(_FIRST + len(self._by_name)))
            self._by_name[name] = found
            self._by_address[found] = name
        return found

    def name_of(self, address: str) -> str:
        """Return the name that an address stands for, or the address itself."""
        return self._by_address.get(address, address)
