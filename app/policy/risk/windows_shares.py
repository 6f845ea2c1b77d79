"""Shares, addresses and streams in the words of a Windows command.

A share of another host is an ordinary path to every program, so a copy to one sends data, and a
program that loads one runs that host's code.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from app.policy.risk.call import names

_SHARE = re.compile(
    r"(?<![\\\w])\\\\(?:\?\\UNC\\)?(?P<host>[\w][\w.:@%-]*)\\(?P<share>[^\\/\s\"',;]+)"
    r"|(?<![:/\w])//(?P<ip>\d+(?:\.\d+){3})/[^/\s\"',;]+",
    re.IGNORECASE,
)
_OWN_HOST = re.compile(
    r"(?:localhost|127\.[\d.]+|wsl\$?|wsl\.localhost|tsclient|\.|%computername%)(?:@.*)?",
    re.IGNORECASE,
)
_NUMBERED = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}")
_NEAR = re.compile(r"(?:10|127|192\.168|169\.254|172\.(?:1[6-9]|2\d|3[01]))\.")
_ADDRESS = re.compile(
    r"(?:https?|ftp|script|scriptlet):/{0,2}(?://)?(?!(?:[^/@\s]*@)?(?:localhost|127\."
    r"|\[::1))[\w\[%]",
    re.IGNORECASE,
)
_KINDS = (
    "exe|dll|ocx|cpl|scr|pif|msi|msp|mst|msix|msixbundle|appx|appxbundle|appinstaller|application|"
    "appref-ms|hta|sct|wsc|xsl|xslt|inf|chm|bat|cmd|ps1|psm1|psd1|vbs|vbe|jse|wsf|wsh|xoml|xbap|"
    "lnk|reg|mof|msc|iso|vhdx?|jar|csx|fsx|rsp|vsix|nupkg|settingcontent-ms|library-ms|deskthemepack"
)
_CODE_AT = re.compile(
    rf"(?:https?|ftp)://(?!(?:localhost|127\.))[^\s\"'|;&]+\.(?:{_KINDS})(?=$|[?#\"',;)\s])",
    re.IGNORECASE,
)
_STREAM = re.compile(
    r"(?:^|[\\/\"=,])[^\\/:*?\"<>|\s]*\.[a-z0-9]{1,5}:[\w.-]+\.(?:exe|dll|ocx|cpl|scr|bat|cmd|ps1|"
    r"vbs|vbe|js|jse|wsf|hta|sct|inf|ini|reg|zip|cab|txt|xsl|msi)(?:$|[\s\",:])",
    re.IGNORECASE,
)
_TEXTS = frozenset(
    names(
        "echo rem title set prompt write-host write-output write-verbose write-warning write-error "
        "write-information write-debug findstr find select-string sls git test-path split-path "
        "join-path ping test-connection test-netconnection tnc out-null new-object docker scp ssh "
        "rsync"
    )
)
"""Commands for which such a word is text, or that interpret `//` and `:` differently."""


def is_text(name: str) -> bool:
    return name in _TEXTS


def far_share(words: Iterable[str]) -> str:
    """Return the share of another host among `words`; "" for none."""
    for word in words:
        for found in _SHARE.finditer(word):
            host = found["host"] or found["ip"]
            if not _OWN_HOST.fullmatch(host):
                return found.group()
    return ""


def public_share(words: Iterable[str]) -> str:
    """Return the share outside the user's network among `words`: by IP address, or over the web."""
    for word in words:
        for found in _SHARE.finditer(word):
            host, _, port = (found["host"] or found["ip"]).partition("@")
            over_web = bool(port) or (found["share"] or "").lower() == "davwwwroot"
            numbered = _NUMBERED.fullmatch(host) and not _NEAR.match(host)
            if (numbered or over_web) and not _OWN_HOST.fullmatch(host):
                return found.group()
    return ""


def address(words: Iterable[str]) -> str:
    """Return the first of `words` that is an address of another host; "" for none."""
    return next((word for word in words if _ADDRESS.search(word)), "")


def code_at_address(words: Iterable[str]) -> str:
    """Return the address of a runnable or loadable file among `words`; "" for none."""
    for word in words:
        if found := _CODE_AT.search(word):
            return found.group()
    return ""


def hidden_stream(words: Iterable[str]) -> str:
    """Return an alternate stream of a file among `words`, as in `notes.txt:run.exe`; "" for
    none.
    """
    for word in words:
        if ":" in word and "://" not in word and _STREAM.search(word):
            return word
    return ""
