"""Allowed destinations of requests, by name and by address."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from app.config.web import WebSettings
from app.core.errors import ToolFailed
from app.operations.web.addresses import OwnPorts, Reach
from app.operations.web.protocol import NotConnected
from app.operations.web.urls import WebUrl


@dataclass(frozen=True, slots=True)
class Destinations:
    """Destinations allowed by the operator.

    Attributes:
        allow_hosts: if not empty, only these and their subdomains; in lower case.
        deny_hosts: never these and their subdomains.
        setting: setting that allows more addresses.
    """

    reach: Reach = field(default_factory=Reach)
    allow_hosts: tuple[str, ...] = ()
    deny_hosts: tuple[str, ...] = ()
    setting: str = "web.allow_networks"

    @classmethod
    def of(cls, settings: WebSettings, own_ports: OwnPorts) -> Destinations:
        """Return the destinations configured for pages."""
        allowed = tuple(ipaddress.ip_network(text) for text in settings.allow_networks)
        return cls(
            Reach(allowed, own_ports),
            tuple(settings.allow_hosts),
            tuple(settings.deny_hosts),
        )

    def check_host(self, url: WebUrl) -> None:
        """Refuse a denied host name.

        Raises:
            ToolFailed: `host_refused`.
        """
        listed = self.allow_hosts
        if _among(url.host, self.deny_hosts) or (listed and not _among(url.host, listed)):
            raise ToolFailed(
                f"Fetching pages from {url.host!r} is not allowed by the operator",
                code="host_refused",
                host=url.host,
            )

    def check_written(self, url: WebUrl) -> None:
        """Refuse what is known without name resolution: denied host names, and addresses.

        Raises:
            ToolFailed: `host_refused`, `address_refused`.
        """
        self.check_host(url)
        with suppress(ValueError):
            self.check_addresses(url.host, url.port, [str(ipaddress.ip_address(url.host))])

    def check_addresses(self, host: str, port: int, addresses: Sequence[str]) -> None:
        """Refuse a host if one of its addresses is not allowed.

        Raises:
            ToolFailed: `address_refused`; `fetch_failed` without any address.
        """
        if not addresses:
            raise NotConnected(f"{host!r} has no address", code="fetch_failed")
        for address in addresses:
            if (why := self.reach.refuses(address, port)) is not None:
                raise ToolFailed(
                    # Without the address: names of a private network must not be explored.
                    f"{host!r} resolves to an address {why}; an operator can allow it "
                    f"with {self.setting}",
                    code="address_refused",
                    host=host,
                )


def _among(host: str, listed: Sequence[str]) -> bool:
    return any(host == name or host.endswith(f".{name}") for name in listed)
