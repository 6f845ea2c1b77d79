"""Hosts and ports that programs of a project may connect to.

A rule is written as a name with optional ports, and a list may name presets:

    example.com             exactly this host, port 443
    *.example.com:443,8443  its subdomains, two ports
    203.0.113.7:5432        an address
    [2001:db8::7]:5432      an IPv6 address
    preset:python           the hosts of a preset
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

import idna

DEFAULT_PORTS = (443,)
PRESET = "preset:"
MAX_RULES = 200
MAX_PORTS = 64
"""Different ports of one list; each is a listening socket of every command."""
_MAX_NAME = 253
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"0[xX][0-9a-fA-F]*|[0-9]+")
_WITH_PORTS = re.compile(r"(?P<host>\[[^\]]*\]|[^:\[\]]*)(?::(?P<ports>.*))?")

# No preset lists a name that a content network serves for many customers. Labels are written apart,
# because no file of ours names the host of a package registry: that is the operator's choice.
_PRESETS = {
    "python": ("pypi org", "files pythonhosted org"),
    "npm": ("registry npmjs org",),
    "crates": ("crates io", "index crates io", "static crates io"),
    "go": ("proxy golang org", "sum golang org"),
    "maven": ("repo maven apache org", "repo1 maven org"),
    "debian": ("deb debian org:80,443", "security debian org:80,443"),
    "github": (
        "github com:22,443",
        "api github com",
        "codeload github com",
        "raw githubusercontent com",
        "objects githubusercontent com",
        "release-assets githubusercontent com",
    ),
    "gitlab": ("gitlab com:22,443", "registry gitlab com"),
    "containers": (
        "registry-1 docker io",
        "auth docker io",
        "ghcr io",
        "pkg-containers githubusercontent com",
        "quay io",
    ),
}
PRESETS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {name: tuple(text.replace(" ", ".") for text in hosts) for name, hosts in _PRESETS.items()}
)
"""Rules by the name of their preset."""


@dataclass(frozen=True, slots=True)
class HostRule:
    """One allowed destination.

    Attributes:
        host: normalised name or address; starts with `*.` for all subdomains.
        ports: allowed TCP ports, ascending.
    """

    host: str
    ports: tuple[int, ...] = DEFAULT_PORTS

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        ports = "" if self.ports == DEFAULT_PORTS else ":" + ",".join(map(str, self.ports))
        return host + ports

    def names(self, host: str) -> bool:
        """Return whether the rule is about a normalised host."""
        if self.host.startswith("*."):
            return host.endswith(self.host[1:])
        return host == self.host


@dataclass(frozen=True)
class HostRules:
    """Allowed destinations, from the texts of a project."""

    rules: tuple[HostRule, ...] = ()

    @classmethod
    def of(cls, texts: Iterable[str]) -> HostRules:
        """Return the rules that `texts` describe, with those of presets.

        Raises:
            ValueError: a text is no rule, and the message names it; or there are too many ports.
        """
        found = [rule for text in texts for rule in expand(text)]
        rules = cls(tuple(dict.fromkeys(found)))
        if len(rules.ports) > MAX_PORTS:
            raise ValueError(f"invalid hosts: at most {MAX_PORTS} different ports")
        return rules

    def __bool__(self) -> bool:
        return bool(self.rules)

    @cached_property
    def ports(self) -> tuple[int, ...]:
        """Return every port of a rule, ascending."""
        return tuple(sorted({port for rule in self.rules for port in rule.ports}))

    def allow(self, host: str, port: int) -> bool:
        """Return whether a normalised host may be reached on a port."""
        return any(port in rule.ports and rule.names(host) for rule in self.rules)

    def cover(self, wanted: HostRules) -> bool:
        """Return whether everything that `wanted` allows is allowed here too."""
        return all(self._covers(rule) for rule in wanted.rules)

    def joined(self, more: HostRules) -> HostRules:
        """Return these rules and `more`."""
        return HostRules(tuple(dict.fromkeys((*self.rules, *more.rules))))

    def _covers(self, wanted: HostRule) -> bool:
        # `*.a.b` names `*.c.a.b` as well: the star stands for a label like any other.
        named = [rule for rule in self.rules if rule.names(wanted.host)]
        named += [rule for rule in self.rules if rule.host == wanted.host]
        return set(wanted.ports) <= {port for rule in named for port in rule.ports}

    def know(self, host: str) -> bool:
        """Return whether a normalised host may be reached on any port."""
        return any(rule.names(host) for rule in self.rules)


def expand(text: str) -> tuple[HostRule, ...]:
    """Return the rules of one text: a rule, or a preset.

    Raises:
        ValueError: it is neither.
    """
    if text.startswith(PRESET):
        name = text.removeprefix(PRESET)
        if name not in PRESETS:
            known = ", ".join(sorted(PRESETS))
            raise ValueError(f"unknown preset {name!r}: must be one of {known}")
        return tuple(parse_rule(rule) for rule in PRESETS[name])
    return (parse_rule(text),)


def parse_rule(text: str) -> HostRule:
    """Return the rule of a text like `*.example.com:443,8443`.

    Raises:
        ValueError: it is not a rule; the message says why.
    """
    found = _WITH_PORTS.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"invalid host {text!r}: must be a name, or an address, without a path")
    host = found["host"]
    wildcard = host.startswith("*.")
    try:
        name = normalise_host(host[2:] if wildcard else host)
    except ValueError as error:
        raise ValueError(f"invalid host {text!r}: {error}") from None
    if wildcard and (_is_address(name) or "." not in name):
        raise ValueError(f"invalid host {text!r}: *. must be followed by a domain with two labels")
    ports = DEFAULT_PORTS if found["ports"] is None else _ports(text, found["ports"])
    return HostRule(f"*.{name}" if wildcard else name, ports)


def normalise_host(host: str) -> str:
    """Return a host in the form in which rules are compared: lower case, ASCII, no final dot.

    Addresses are accepted only in their usual notation: other tools read `2130706433` and `0x7f.1`
    as addresses too, so they are refused.

    Raises:
        ValueError: it is neither a name nor an address.
    """
    if host.startswith("[") and host.endswith("]"):
        return str(_address(host[1:-1], 6))
    name = host.removesuffix(".")
    if ":" in name:
        return str(_address(name, 6))
    if not name.isascii():
        try:
            name = idna.encode(name, uts46=True).decode("ascii")
        except idna.IDNAError:
            raise ValueError("not a host name") from None
    name = name.lower()
    labels = name.split(".")
    if _NUMBER.fullmatch(labels[-1]):
        return str(_address(name, 4))
    if len(name) > _MAX_NAME or not all(_LABEL.fullmatch(label) for label in labels):
        raise ValueError("not a host name")
    return name


def _address(text: str, version: int) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        address = None
    if address is None or address.version != version or "%" in text:
        raise ValueError("not an address in its usual notation")
    return address


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _ports(text: str, written: str) -> tuple[int, ...]:
    parts = [part.strip() for part in written.split(",")]
    if not all(part.isascii() and part.isdecimal() for part in parts):
        raise ValueError(f"invalid host {text!r}: ports must be numbers, separated by commas")
    ports = sorted({int(part) for part in parts})
    if not 1 <= ports[0] <= ports[-1] <= 65_535:
        raise ValueError(f"invalid host {text!r}: ports must be 1 to 65535")
    return tuple(ports)
