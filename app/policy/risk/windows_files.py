"""Files that a Windows command writes, replaces or shows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from app.policy.risk.call import Answer, ask, names, resolve
from app.policy.risk.paths import reading

_WRITERS = frozenset(
    names(
        "set-content add-content out-file tee-object copy-item move-item new-item rename-item "
        "cp mv copy move ren rename rni xcopy robocopy ni sc ac mi cpi"
    )
)
SYSTEM = re.compile(
    r"[a-z]:[\\/]windows(?:[\\/]|$)|\$env:(?:windir|systemroot)|%(?:windir|systemroot)%|\$profile",
    re.IGNORECASE,
)
_STARTUP = re.compile(r"start menu[\\/]programs[\\/]startup", re.IGNORECASE)
_READERS = frozenset(
    names("get-content gc cat type more copy copy-item cp cpi compress-archive select-string")
)
_HOME = re.compile(
    r"(?:~|\$home|\$env:userprofile|%userprofile%|[a-z]:/users/[^/]+)(?=/)", re.IGNORECASE
)
_REDIRECT = re.compile(r"[\d*]?>>?(?!&)(.*)", re.DOTALL)
_KEY = re.compile(r"hk(?:lm|cu|cr|u|cc):|registry::|hkey_|(?:wsman|cert|ad|iis):", re.IGNORECASE)
_SETS_KEYS = frozenset(names("set-itemproperty new-itemproperty sp set-item si new-item ni"))


def without_redirects(words: Sequence[str]) -> tuple[str, ...]:
    """Return the words of the command itself; cmd accepts a redirection before them too."""
    kept: list[str] = []
    follows = False
    for word in words:
        redirect = _REDIRECT.fullmatch(word)
        if not follows and not redirect and not re.fullmatch(r"\d>>?&\d", word):
            kept.append(word)
        follows = bool(redirect and not redirect.group(1))
    return tuple(kept)


def _is_started(path: str) -> bool:
    """Return whether a file belongs to the system, or runs at logon."""
    return bool(SYSTEM.match(path) or _STARTUP.search(path))


def redirect_targets(words: Sequence[str]) -> list[str]:
    """Return the files that `>` and `>>` write."""
    return [
        match.group(1) or following
        for word, following in pairwise([*words, ""])
        if ">" in word and (match := _REDIRECT.fullmatch(word))
    ]


def redirected(words: Sequence[str]) -> Iterator[Answer]:
    """Yield findings for the files that `>` and `>>` write."""
    for target in redirect_targets(words):
        if _is_started(target):
            yield ask("system_write", "writes a system or start-up file")


def on_files(name: str, args: Sequence[str], home: str) -> Iterator[Answer]:
    """Yield findings for the files and registry keys given to the command `name`."""
    if name in _WRITERS and any(map(_is_started, args)):
        yield ask("system_write", f"{name} writes a system or start-up file")
    if name in _SETS_KEYS and any(_KEY.match(arg) for arg in args):
        yield ask("windows_admin", f"{name} changes the registry")
    if name in _READERS:
        for arg in args:
            path = _HOME.sub("~", arg.replace("\\", "/"), count=1)
            yield from reading(resolve(path, None, home), home)
