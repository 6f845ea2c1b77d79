"""Location of a Windows script, its saved files, and targets that are a whole drive or home."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from app.policy.risk.call import names, resolve
from app.policy.risk.floor import is_catastrophic
from app.policy.risk.windows_shares import far_share

_VARIABLES = (
    "userprofile|systemroot|windir|systemdrive|homedrive|homepath|programfiles|programdata|"
    "allusersprofile|public"
)
_ROOT = re.compile(
    r"(?:[a-z]:|\\\\[?.]\\[a-z]:)[\\/]*\*?(?:\.\*)?|[\\/]+\*?(?:\.\*)?|~[\\/]?\*?|"
    r"\$(?:home|\{home\})[\\/]?\*?|"
    rf"\$(?:env:(?:{_VARIABLES})|\{{env:(?:{_VARIABLES})\}}|\(\$env:(?:{_VARIABLES})\))[\\/]*\*?|"
    rf"(?:%(?:{_VARIABLES})%)+[\\/]*\*?(?:\.\*)?|"
    r"[a-z]:[\\/](?:windows|users|program files(?: \(x86\))?|programdata)(?:[\\/]\*?)?"
    r"|[a-z]:[\\/]users[\\/][^\\/*]+(?:[\\/]\*?)?|[a-z]:[\\/]windows[\\/]system32(?:[\\/].*)?",
    re.IGNORECASE,
)
_ALL_HERE = frozenset([".", "*", "*.*", ".\\", "./", ".\\*", "./*", ".\\*.*"])
_MOVES = frozenset(names("cd chdir pushd set-location sl push-location"))
_LISTS = frozenset(names("get-childitem gci dir ls get-item gi"))
_LISTS_ALL = re.compile(r"-(?:r\w*|fo\w*|path|literalpath|hidden|file|directory)", re.IGNORECASE)


_SAVES = re.compile(r"-o(?:u\w*)?|--output", re.IGNORECASE)
_WRITES = frozenset(names("set-content add-content out-file tee-object sc ac"))
_REDIRECT = re.compile(r"\d?>>?(?!&)(.*)", re.DOTALL)
_COPIES = frozenset(
    names(
        "copy xcopy move cp mv copy-item move-item cpi mi expand replace extrac32 esentutl makecab"
    )
)
_SCRIPTS = (".bat", ".cmd", ".ps1", ".vbs", ".js", ".sh")


def file_name(word: str) -> str:
    return re.split(r"[\\/]", word)[-1].lower()


def program(word: str) -> str:
    return file_name(word).removesuffix(".exe")


def is_whole(target: str, here: str, home: str) -> bool:
    """Return whether deleting all of `target` in the directory `here` ("": unknown) destroys the
    host.
    """
    if target in _ALL_HERE:
        return bool(here)
    if target.startswith("/") and is_catastrophic(resolve(target, None, home), home):
        return True
    return bool(_ROOT.fullmatch(target))


@dataclass(slots=True)
class Places:
    """Effects of earlier commands of a script.

    Attributes:
        saved: names of fetched files and written scripts.
        here: directory, if it is a whole drive, home or system folder.
        sent: words of the command before the pipe, if it lists a whole folder.
    """

    saved: set[str]
    here: str = ""
    listed: tuple[str, ...] = ()
    sent: tuple[str, ...] = ()

    def enter(self, words: Sequence[str], *, piped: bool) -> None:
        name, *args = words
        name = name.lower()
        self.sent = self.listed if piped else ()
        lists = name in _LISTS and all(
            _ROOT.fullmatch(arg) or _LISTS_ALL.fullmatch(arg) for arg in args
        )
        self.listed = tuple(args) if lists else ()
        if name in _MOVES:
            rest = [arg for arg in args if arg.lower() not in {"/d", "-path", "-literalpath"}]
            self.here = next((arg for arg in rest if _ROOT.fullmatch(arg)), "")
        elif name in {"popd", "pop-location"}:
            self.here = ""

    def leave(self, words: Sequence[str]) -> None:
        if words:
            self.saved |= _fetched(words) | _written(words)


def _written(words: Sequence[str]) -> set[str]:
    """Return scripts written by a redirection or a cmdlet."""
    found = list(words) if words[0].lower() in _WRITES else []
    for word, following in pairwise([*words, ""]):
        if ">" in word and (match := _REDIRECT.fullmatch(word)):
            found.append(match.group(1) or following)
    return {name for word in found if (name := file_name(word)).endswith(_SCRIPTS)}


def _fetched(words: Sequence[str]) -> set[str]:
    found = {file_name(value) for flag, value in pairwise(words) if _SAVES.fullmatch(flag)}
    name = program(words[0])
    if name in {"curl", "wget"} and not found:
        found = {file_name(word) for word in words if "://" in word}
    if name in {"certutil", "bitsadmin", "start-bitstransfer"}:
        found.add(file_name(words[-1]))
    elif name in _COPIES and (source := far_share(words[1:2])):
        found |= {file_name(source), file_name(words[1]), file_name(words[-1])}
    return found
