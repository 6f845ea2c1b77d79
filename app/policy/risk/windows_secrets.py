"""Secrets in cmd and PowerShell lines: what reads one, and what sends.

Their pipes and variables are not followed, so a line that reads a secret and sends asks. A secret
that only logs in, in a header or as a credential, does not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from app.policy.risk.call import Answer, ask
from app.policy.risk.secrets import ALL_OF, held, is_secret_name

_SENDS = re.compile(
    r"(?<![\w-])(?:irm|iwr|invoke-restmethod|invoke-webrequest|curl(?:\.exe)?|wget(?:\.exe)?|scp|sftp|ftp|tftp"
    r"|nc|ncat|netcat|send-mailmessage|start-bitstransfer|bitsadmin|certreq|aws|gsutil|azcopy|rclone"
    r"|gh\s+(?:gist|issue|release|api)|az\s+storage|copy-s3object|write-s3object|resolve-dnsname|nslookup"
    r"|test-connection|ping|rsync|croc|telnet|finger)(?![\w-])"
    r"|\.(?:upload(?:file|string|data|values)|(?:post|put|send|get)async|downloadstring)\b"
    r"|net\.sockets|tcpclient|smtpclient|webclient|httpclient",
    re.IGNORECASE,
)
_ENVIRONMENT = re.compile(
    r"(?:\b(?:gci|dir|ls|gi|get-childitem|get-item)|(?<![\w$-])cat|type)\s+(?:-path\s+)?['\"]?env:(?:\\?\*)?['\"]?(?=[\s|)};]|$)"
    r"|getenvironmentvariables\(|(?:^|[&(|]\s*)set\s*(?:\||>)",
    re.IGNORECASE,
)
_VARIABLE = re.compile(
    r"\$\{?env:(?P<a>\w+)|%(?P<b>\w+)%|getenvironmentvariable\(\s*['\"](?P<c>\w+)|!(?P<d>\w+)!",
    re.IGNORECASE,
)
_LOGS_IN = re.compile(
    r"-headers?\s+(?:@\{[^}]*\}|\S+)|(?:-H|--header)\s+(?:\"[^\"]*\"|'[^']*'|\S+)"
    r"|-(?:credential|token|authentication|apikey|certificate|u|user|b|cookie)\s+(?:\"[^\"]*\"|'[^']*'|\S+)"
    r"|\$headers?\s*=\s*@\{[^}]*\}|\bauthorization['\"]?\s*=\s*(?:\"[^\"]*\"|'[^']*'|\S+)",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\s\"'|;,()<>=@{}]+")
_STORES = re.compile(
    r"\\(?:microsoft\\(?:credentials|protect|vault)|google\\chrome\\user data"
    r"|mozilla\\firefox\\profiles)"
    r"|\\config\\(?:sam|security|system)\b|ntds\.dit|unattend\.xml|consolehost_history|filezilla\\\w+\.xml",
    re.IGNORECASE,
)
_ADDRESS = re.compile(r"https?://(?:[^/@\s'\"]*@)?(?P<host>[^/:'\"\s?]+)", re.IGNORECASE)
_NEAR = re.compile(r"localhost|127(?:\.\d+){3}|\[::1\]?", re.IGNORECASE)


def secrets_sent(text: str) -> Iterator[Answer]:
    """The question about a line that reads a secret and sends."""
    sender = _SENDS.search(text)
    if sender is None:
        return
    hosts = [found["host"] for found in _ADDRESS.finditer(text)]
    if hosts and all(map(_NEAR.fullmatch, hosts)):
        return
    what = _secret_in(_LOGS_IN.sub(" ", text))
    if what:
        yield ask("secret_sent", f"{sender.group().strip('.(')} sends {what} to another host")


def _secret_in(text: str) -> str:
    if _ENVIRONMENT.search(text):
        return "the environment"
    for found in _VARIABLE.finditer(text):
        name = next((part for part in found.groups() if part), "")
        if is_secret_name(name):
            return str(name)
    if store := _STORES.search(text):
        return store.group()
    return next((word for word in _WORD.findall(text) if _is_secret_file(word)), "")


def _is_secret_file(word: str) -> bool:
    """Whether a word names a file with secrets, in whatever folder it is."""
    path = re.sub(
        r"^(?:[a-z]:|~|%\w+%|\$\{?(?:env:)?\w+\}?)",
        "",
        word.replace("\\", "/"),
        flags=re.IGNORECASE,
    )
    if "://" in word or ("/" not in path and "." not in path and not path.startswith("id_")):
        return False
    found = held(f"/-/{path.lstrip('/')}", "/home/-")
    return bool(found) and not found.startswith(ALL_OF)
