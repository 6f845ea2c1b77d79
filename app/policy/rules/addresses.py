"""Addresses in a call, and the address patterns of rules."""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from app.policy.risk.call import names
from app.policy.risk.model import Segment
from app.policy.rules.arguments import texts_of
from app.policy.rules.words import MAX_WORDS, MAYBE, NO, YES, WordMatch, glob

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*://[^\s'\"<>`]+")
_URL_FIELD = re.compile(r"(?:^|_)(?:url|urls|uri|uris|href|link|endpoint|host)$", re.IGNORECASE)
# The search takes quadratic time in a run of letters: any address after this limit counts as
# unknown.
_MAX_SEARCHED, _LONGEST_ADDRESS = 100_000, 8_192
_HOST = re.compile(r"(?:[^@/\s]+@)?([A-Za-z0-9](?:[\w.-]*[A-Za-z0-9.])?|\[[0-9A-Fa-f:.]+\])")
_SCP = re.compile(r"(?:[\w.-]+@)?([A-Za-z0-9][\w.-]*):(?!//)(.*)", re.DOTALL)
_ODD = re.compile(r"[\\\s\x00-\x20%'\"<>`]")
# Browsers ignore these characters, and accept any slashes for the two.
_LEFT_OUT = re.compile(r"[\t\r\n]")
_SCHEME = re.compile(r"(https?|wss?|ftp):[/\\]*", re.IGNORECASE)
_SLASHES = re.compile(r"[/\\]{2,}")
# Characters that make a client go elsewhere, and those that `curl` expands to several addresses.
_DIVERTS = re.compile(
    r"--(?:connect-to|resolve|proxy|preproxy|socks\w+|unix-socket|abstract-unix-socket|config|"
    r"input-file)(?:=|$)|-[xK]"
)
_SEVERAL = re.compile(r"[{}]|\[[^\]:]*\]")
_PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443, "ftp": 21, "ssh": 22, "git": 9418}
_TALKS = {
    **dict.fromkeys(names("curl wget http https xh httpie aria2c lynx w3m ab hey"), "http"),
    **dict.fromkeys(["ssh", "scp", "sftp", "rsync", "mosh", "git", "sshfs", "autossh"], "ssh"),
    **dict.fromkeys(names("nc ncat netcat telnet socat ftp ping dig nslookup host openssl"), ""),
}


@dataclass(frozen=True, slots=True)
class CallAddress:
    """Target of a call. `host` None: unknown; `odd`: programs interpret it differently."""

    scheme: str
    host: str | None
    port: int | None
    path: str
    odd: bool = False


@dataclass(frozen=True, slots=True)
class UrlPattern:
    """Every given part must match. `host` and `path` are globs."""

    scheme: str | None
    host: str | None
    port: int | None
    path: str | None

    def match(self, address: CallAddress) -> WordMatch:
        if address.host is None:
            return MAYBE
        found = YES
        if self.scheme is not None and address.scheme != self.scheme.lower():
            if address.scheme:
                return NO
            found = MAYBE
        if self.host is not None and not self._host(address.host):
            return MAYBE if address.odd else NO
        if self.port is not None and address.port != self.port:
            if address.port is not None:
                return NO
            found = MAYBE
        if self.path is not None and not glob(self.path).match(address.path or "/"):
            return NO
        return found

    def _host(self, host: str) -> bool:
        assert self.host is not None
        wanted = _ascii(self.host)
        if ":" in wanted:
            wanted = wanted.strip("[]")
        if glob(wanted).match(host):
            return True
        return wanted.startswith("*.") and host == wanted[2:]


def address(text: str, *, scheme: str = "") -> CallAddress | None:
    """Return the address in `text`, optionally without scheme; None if it is not one."""
    try:
        parts = urlsplit(text if "://" in text else f"{scheme or 'x'}://{text}")
        host, port = parts.hostname, parts.port
    except ValueError:
        return CallAddress(scheme, None, None, "", odd=True)
    if not host:
        return None
    known = parts.scheme.lower() if "://" in text else scheme
    return CallAddress(
        known,
        _plain_host(host),
        port or _PORTS.get(known),
        parts.path,
        odd=bool(_ODD.search(parts.netloc)) or "\\" in text,
    )


def _plain_host(host: str) -> str:
    """Return lower case without the last dot; an IPv4 address in its usual form."""
    lowered = _ascii(host).rstrip(".")
    if re.fullmatch(r"[0-9a-fx.]+", lowered) and re.match(r"\d", lowered):
        try:
            return socket.inet_ntoa(socket.inet_aton(lowered))
        except OSError:
            return lowered
    try:
        return str(ipaddress.ip_address(lowered))
    except ValueError:
        return lowered


_UNSEEN = CallAddress("", None, None, "")


def _ascii(host: str) -> str:
    """Return lower case, with international names in DNS form."""
    lowered = host.lower()
    if lowered.isascii():
        return lowered
    try:
        return lowered.encode("idna").decode()
    except UnicodeError:
        return lowered


def argument_addresses(values: Mapping[str, Any]) -> tuple[CallAddress, ...]:
    """Return addresses in any text, and bare hosts under telling names."""
    found: dict[CallAddress, None] = {}
    for text, telling in texts_of(values, _URL_FIELD):
        if text is None or text.find("://", _MAX_SEARCHED - _LONGEST_ADDRESS) >= 0:
            found[_UNSEEN] = None
        if text is None:
            continue
        texts = _URL.findall(text[:_MAX_SEARCHED])
        for url in [*texts, _as_browsers_read(text)] if telling else texts:
            if (seen := address(url)) is not None:
                found[seen] = None
    return tuple(found)


def _as_browsers_read(text: str) -> str:
    """Return a text that is one address as browsers interpret it."""
    whole = _LEFT_OUT.sub("", text[:_MAX_SEARCHED]).strip()
    if scheme := _SCHEME.match(whole):
        return f"{scheme[1]}://{whole[scheme.end() :]}"
    slashes = _SLASHES.match(whole)
    return whole[slashes.end() :] if slashes else whole


def word_addresses(segment: Segment) -> tuple[CallAddress, ...]:
    """Return addresses in the words of one command; bare hosts if the program connects to one."""
    program = (segment.argv[0] or "").rsplit("/", 1)[-1] if segment.argv else ""
    scheme = _TALKS.get(program)
    found: dict[CallAddress, None] = {}
    unseen = segment.argv[MAX_WORDS:]
    if unseen and (scheme is not None or any(word is None or "://" in word for word in unseen)):
        found[_UNSEEN] = None
    for word in segment.argv[1:MAX_WORDS]:
        if word is None:
            if scheme is not None or not program:
                found[_UNSEEN] = None
            continue
        texts = _URL.findall(word)
        if scheme == "http" and _SCHEME.match(word):
            texts.append(_as_browsers_read(word))
        elif scheme == "http" and _DIVERTS.match(word):
            found[_UNSEEN] = None
        candidates = [address(text) for text in texts]
        if program == "curl" and any(_SEVERAL.search(text.split("/")[2]) for text in texts):
            found[_UNSEEN] = None
        if not texts and scheme is not None:
            candidates = list(_bare(word, scheme))
        found.update((item, None) for item in candidates if item is not None)
    return tuple(found)


def _bare(word: str, scheme: str) -> Iterator[CallAddress | None]:
    if word.startswith("-"):
        return
    if scheme != "http" and (remote := _SCP.fullmatch(word)):
        yield CallAddress("ssh", _plain_host(remote[1]), 22, "/" + remote[2].lstrip("/"))
        return
    head = re.split(r"[/:?#]", word, maxsplit=1)[0]
    local_name = scheme == "ssh" and "@" not in word and "." not in word
    if _HOST.fullmatch(head) and not local_name:
        yield address(word, scheme=scheme)
