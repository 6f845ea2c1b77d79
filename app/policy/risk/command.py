"""Meaning of a command's first word, and the file that the command reads."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
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
_VALUED = frozenset("cesmrIMWXoOSCEdl")
"""Letters of options that have a value in some interpreter other than a shell."""
_VALUED_BY_SHELLS = frozenset("coO")


def written_operands(call: CommandCall, files: Mapping[str, str | None]) -> tuple[int, ...]:
    """Return the positions of the arguments whose text a reader reads, if this script wrote it.

    `cat` reads all its operands. An interpreter runs one: `python3 process.py data.json` does not
    run the second. Where an option before it may have a value, it is the last of those that may be
    the program.
    """
    written = [at for at, arg in enumerate(call.args) if arg != "-" and call.at(arg) in files]
    if call.name == "cat":
        return tuple(written)
    if not written or call.name in {"source", "."}:
        return (0,) if 0 in written else tuple(written[:1])
    is_shell = READERS[call.name] == "-s"
    last = _last_program(call.args, _VALUED_BY_SHELLS if is_shell else _VALUED)
    programs = [at for at in written if at <= last and call.args[at][:1] not in {"-", "+"}]
    if programs:
        return (programs[-1],)
    # A first operand that does not look like a script may be a value or a command of its own.
    is_script = last < len(call.args) and _SCRIPT.fullmatch(call.args[last])
    return () if is_script else (written[0],)


def _last_program(args: Sequence[str], valued: frozenset[str]) -> int:
    """Return the position of the last argument that an interpreter may take for its program.

    Args:
        valued: letters of options that may have a value.
    """
    may_be_value = False
    for at, arg in enumerate(args):
        if arg[:1] in {"-", "+"} and len(arg) > 1:
            is_simple = _SIMPLE_FLAG.fullmatch(arg) and set(arg).isdisjoint(valued)
            may_be_value = not is_simple and "=" not in arg
        elif may_be_value:
            may_be_value = False
        else:
            return at
    return len(args)


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


def read_operands(
    call: CommandCall, files: Mapping[str, str | None], taken: Sequence[int]
) -> Stream:
    """Return the text of the arguments at `taken`, and remove these from the arguments."""
    texts = [files[call.at(call.args[at])] for at in taken]
    if call.name == "cat" and "-" in call.args:
        order = [at for at, arg in enumerate(call.args) if at in taken or arg == "-"]
        piped = call.stdin.text if call.stdin else None
        texts = [piped if call.args[at] == "-" else files[call.at(call.args[at])] for at in order]
        taken = order
    rest = [arg for at, arg in enumerate(call.args) if at not in taken]
    call.args = [arg for arg in [READERS[call.name], *rest] if arg]
    known = [text for text in texts if text is not None]
    return Stream("".join(known) if len(known) == len(texts) else None)


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
