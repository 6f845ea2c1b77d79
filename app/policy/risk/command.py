"""Meaning of a command's first word, and the file that the command reads."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from functools import lru_cache

from app.policy.risk.call import (
    UNKNOWN,
    Answer,
    CommandCall,
    RuleMatch,
    Stream,
    ask,
    names,
    run,
    vaguely,
)

_VERSIONED = re.compile(r"(python|pypy|perl|ruby|node|lua|php|bash|zsh|ksh|tclsh)[\d.]+")


_SCRIPT = re.compile(r"[\w./-]*[\w-]\.\w+|\.{0,2}/[\w./-]+")
_UNKNOWN_WORD = re.compile(f"[*?\\[{UNKNOWN}]")
_MOST_COMPARED = 50
_SIMPLE_FLAG = re.compile(r"-[a-zA-Z]+")


def reads_written(call: CommandCall, files: Mapping[str, str | None]) -> bool:
    """Return whether a reader reads a file that this script wrote.

    `python3 process.py data.json` runs only its first operand.
    """
    if not any(call.at(arg) in files for arg in call.args):
        return False
    if call.name in {"cat", "source", "."}:
        return True
    for arg in call.args:
        if _SCRIPT.fullmatch(arg):
            return call.at(arg) in files
        if not _SIMPLE_FLAG.fullmatch(arg) or not set(arg).isdisjoint("cesmrIMWXoOS"):
            break
    return True


def may_run_written(call: CommandCall, files: Mapping[str, str | None]) -> bool:
    """Return whether an interpreter may run a script written here: `bash ./*`, `. "$x/a"`."""
    if not may_name_written(call):
        return False
    if len(files) > _MOST_COMPARED:
        return True
    pattern = call.at(_script_of(call)).replace(UNKNOWN, "*")
    return any(fnmatchcase(written, pattern) for written in files)


def may_name_written(call: CommandCall) -> bool:
    """Return whether the script of an interpreter is unknown."""
    return call.name != "cat" and _UNKNOWN_WORD.search(_script_of(call)) is not None


def _script_of(call: CommandCall) -> str:
    return next((arg for arg in call.args if arg[:1] != "-"), "")


def file_operand(call: CommandCall, files: Mapping[str, str | None]) -> Stream:
    """Return the file written by this script that a reader (`cat f`) or interpreter (`bash f`)
    uses.
    """
    written = next(files[call.at(arg)] for arg in call.args if call.at(arg) in files)
    rest = [arg for arg in call.args if call.at(arg) not in files]
    call.args = [arg for arg in [READERS[call.name], *rest] if arg]
    return Stream(written)


READERS: dict[str, str] = {
    **dict.fromkeys(("bash", "sh", "zsh", "dash", "ksh", "ash", "mksh"), "-s"),
    **dict.fromkeys(("source", "."), "/dev/stdin"),
    **dict.fromkeys(("python", "python3", "node", "perl", "ruby", "lua", "php"), "-"),
    "cat": "",
}


def program_name(word: str) -> str:
    """Return the name of the program or builtin in a command word."""
    if "\\" in word:
        return word.replace("\\", "/").rsplit("/", 1)[-1].lower().removesuffix(".exe")
    return word.rsplit("/", 1)[-1] if "/" in word else word


@lru_cache(maxsize=4096)
def plain_name(name: str) -> str:
    """Return the name in lower case, without `.exe` and an interpreter's version."""
    lowered = name.lower().removesuffix(".exe")
    versioned = _VERSIONED.fullmatch(lowered)
    return versioned.group(1) if versioned else lowered


@lru_cache(maxsize=4096)
def unresolved(word: str) -> RuleMatch | None:
    if UNKNOWN in word:
        return vaguely("unresolved_command", "the command is not known before it runs")
    if not word or (
        any(char in word for char in "*?") or ("[" in word and word not in {"[", "[["})
    ):
        return ask("unresolved_command", f"{word!r} is a pattern, not a command")
    if not word.isascii():
        return ask("lookalike", "the command's name contains non-ASCII characters")
    return None


PRINTERS = frozenset(
    names(
        "echo printf log man which type whatis help apropos tldr test [ [[ : true logger say where "
        "ls stat file wc du df realpath readlink basename dirname md5sum sha1sum sha256sum cksum "
        "expr comm join fmt fold tree locate info cheat export local declare set cd pushd eza exa "
        "cloc"
    )
)
_PLAIN = re.compile(r"[\w./-]+")
_LONG_STARTS = frozenset(["--", "--exec", "--command"])
_STARTS = _LONG_STARTS | {"-e", "-x"}
"""Words before a command in the arguments of most programs that run one."""
_BEFORE_COMMANDS = _LONG_STARTS | {"rm"}


def wrapped_by_stranger(call: CommandCall) -> Iterator[Answer]:
    """Detect unknown wrappers: `unknown-program … rm x`; if `rm` is a subcommand, it deletes
    too.
    """
    if call.name in PRINTERS or _BEFORE_COMMANDS.isdisjoint(call.args):
        return
    for at, word in enumerate(call.args[:-1]):
        before = call.args[at - 1] if at else ""
        if word == "rm" and (not before.startswith("-") or before in _STARTS):
            yield run(call.args[at:], stdin=call.stdin)
            return
    for at, word in enumerate(call.args[:-1]):
        if word in _LONG_STARTS and _PLAIN.fullmatch(call.args[at + 1]):
            yield run(call.args[at + 1 :], stdin=call.stdin)
            return
