"""Secrets named in the words of a command: files by path, and its input."""

from __future__ import annotations

import re
from collections.abc import Iterator

from app.policy.risk.call import CommandCall
from app.policy.risk.secrets import held

ENVIRONMENT = "the environment"


WHOLE_FOLDER = "the whole folder"


WHOLE_DATABASE = "a whole database"


SOME_SECRET = "a secret"  # noqa: S105 - words for a reader


WHOLE = frozenset([".", "./", "*", "./*", ".."])


def named_by(call: CommandCall) -> str:
    """Return the secret in a file named in the words of `call`."""
    for word in call.args:
        for path in paths_in(word):
            if found := in_file(call, path):
                return found
    return ""


_ATTACHED = re.compile(
    r"(?:--?[\w-]+=|[\w.\[\]-]*(?:=@|=<|:=@|@|=|<)|(?:file|open|gopen|rdonly|create):(?!//))(.+)",
    re.IGNORECASE | re.DOTALL,
)


_MARKED = re.compile(
    r"(?:--?[\w-]+=)?(?:[\w.\[\]-]*(?:=@|=<|:=@|@|<)|(?:file|fileb)://)(.+)",
    re.IGNORECASE | re.DOTALL,
)


_ADDRESS = re.compile(
    r"(?!(?:file|open|gopen|rdonly|create):)(?:[a-z][\w+.-]*://|(?:[\w.-]+@)?[\w.-]{2,}:)",
    re.IGNORECASE,
)


def paths_in(word: str, *, attached: bool = False) -> Iterator[str]:
    """Yield parts of a word that may be a local path: `@f`, `name=@f`, `--file=f`, `file://f`.

    Args:
        attached: a word without such a marker is text.
    """
    if not word or _ADDRESS.match(word):
        return
    bare = word.removeprefix("file://").removeprefix("fileb://")
    if bare[0] != "-" and not attached:
        yield bare
    if found := (_MARKED if attached else _ATTACHED).match(bare):
        value = found[1].removeprefix("file://").removeprefix("fileb://")
        if not _ADDRESS.match(value):
            yield value.partition(";")[0]


def in_file(call: CommandCall, path: str) -> str:
    """Return the secret in a file named by `call`: by its name, or by the script's actions."""
    if path in {"-", ""}:
        return ""
    at = call.at(path)
    return call.flow.files.get(at, "") or held(at, call.home)


def incoming(call: CommandCall) -> str:
    return call.stdin.secret if call.stdin else ""


def is_address(word: str) -> bool:
    """Return whether a word refers to another host."""
    return _ADDRESS.match(word) is not None
