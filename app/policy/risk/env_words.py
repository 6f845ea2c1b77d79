"""How `env` reads its words: options, the text of `-S`, assignments, and then a command."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from app.policy.risk.call import UNKNOWN, Answer, Call, names, run
from app.policy.risk.rules.environment import assignment

_VALUED = {"u": "--unset", "C": "--chdir", "S": "--split-string", "a": "--argv0"}
_LONG = (
    *_VALUED.values(),
    *names(
        "--ignore-environment --null --block-signal --default-signal --ignore-signal "
        "--list-signal-handling --debug --help --version"
    ),
)
_ESCAPES = re.compile(r"\\[_fnrtv]")


def env(call: Call) -> Iterator[Answer]:
    args, moves = list(call.args), None
    while args and args[0][:1] == "-" and args[0] != "--":
        option, value, args = _option(args)
        if option == "--split-string":
            args = [*_split(value), *args]
        elif option == "--chdir":
            moves = value
    args = args[1:] if args[:1] == ["--"] else args
    while args and "=" in args[0]:
        name, _, value = args[0].partition("=")
        yield from assignment(name, value)
        args = args[1:]
    if args:
        yield run(args, stdin=call.stdin, moves=moves)


def _option(args: list[str]) -> tuple[str, str, list[str]]:
    """The first option's full name, its value, and the words after both."""
    word, rest = args[0], args[1:]
    if word[:2] == "--":
        name, equals, value = word.partition("=")
        full = next((full for full in _LONG if full.startswith(name)), name)
    else:
        at = next((at for at, letter in enumerate(word) if letter in _VALUED), 0)
        full, value = _VALUED.get(word[at], ""), word[at + 1 :]
        equals = value
    if full in _VALUED.values() and not equals:
        return full, rest[0] if rest else "", rest[1:]
    return full, value, rest


def _split(text: str) -> list[str]:
    """The words that `-S` makes: as a shell's, but `\\_` is a space and only `${NAME}` expands."""
    if "${" in text:
        return [UNKNOWN]
    try:
        return shlex.split(_ESCAPES.sub(" ", text))
    except ValueError:
        return [UNKNOWN]
