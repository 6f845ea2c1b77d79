"""Parsing of `env`'s words: options, the text of `-S`, assignments, then a command."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from app.policy.risk.call import UNKNOWN, Answer, CommandCall, names, run
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


def env(call: CommandCall) -> Iterator[Answer]:
    ahead, moves = call.args[::-1], None
    while ahead and ahead[-1][:1] == "-" and ahead[-1] != "--":
        option, value = _option(ahead)
        if option == "--split-string":
            ahead.extend(reversed(_split(value)))
        elif option == "--chdir":
            moves = value
    if ahead and ahead[-1] == "--":
        ahead.pop()
    while ahead and "=" in ahead[-1]:
        name, _, value = ahead.pop().partition("=")
        yield from assignment(name, value)
    if ahead:
        yield run(ahead[::-1], stdin=call.stdin, moves=moves)


def _option(ahead: list[str]) -> tuple[str, str]:
    """Take an option, with its value, from the end of the remaining words `ahead`."""
    word = ahead.pop()
    if word[:2] == "--":
        name, equals, value = word.partition("=")
        full = next((full for full in _LONG if full.startswith(name)), name)
    else:
        at = next((at for at, letter in enumerate(word) if letter in _VALUED), 0)
        full, value = _VALUED.get(word[at], ""), word[at + 1 :]
        equals = value
    if full in _VALUED.values() and not equals:
        value = ahead.pop() if ahead else ""
    return full, value


def _split(text: str) -> list[str]:
    """Split the text of `-S` like a shell, but `\\_` is a space and only `${NAME}` expands."""
    if "${" in text:
        return [UNKNOWN]
    try:
        return shlex.split(_ESCAPES.sub(" ", text))
    except ValueError:
        return [UNKNOWN]
