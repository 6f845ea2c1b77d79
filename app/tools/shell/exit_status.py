"""Meanings of exit statuses."""

from __future__ import annotations

import shlex

_MEANINGS = {
    124: "the command's own time limit ran out",
    126: "found, but cannot be executed",
    127: "command not found",
    130: "interrupted",
    134: "aborted",
    137: "killed, possibly for using too much memory",
    139: "crashed with a segmentation fault",
    141: "nobody read its output",
    143: "terminated",
    152: "CPU time limit exceeded",
    153: "file size limit exceeded",
}
_STATUS_ONE = {
    "cmp": "the files differ",
    "diff": "the files differ",
    "egrep": "no lines matched",
    "fgrep": "no lines matched",
    "grep": "no lines matched",
    "pgrep": "no process matched",
    "rg": "no lines matched",
    "test": "the condition is false",
    "[": "the condition is false",
}
_SEPARATORS = frozenset("();<>|&")


def meaning(command: str, code: int) -> str | None:
    """Return a short explanation of a non-zero exit status, if known."""
    if code == 1:
        return _STATUS_ONE.get(_last_program(command) or "")
    return _MEANINGS.get(code)


def _last_program(command: str) -> str | None:
    """Return the program whose status the shell reported; a guess, sufficient for a hint."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    program: str | None = None
    starts = True
    try:
        for token in lexer:
            if set(token) <= _SEPARATORS:
                starts = not set(token) & set("<>")
            elif starts and "=" not in token:
                program = token.rpartition("/")[2]
                starts = False
    except ValueError:
        return None
    return program
