"""Shells, eval, source, trap: text that becomes commands."""

from __future__ import annotations

import re
from collections.abc import Iterator

from app.policy.risk.call import (
    SECRET,
    UNKNOWN,
    Answer,
    CommandCall,
    RuleTable,
    ask,
    options,
    script,
    table,
    vaguely,
)
from app.policy.risk.rules.environment import assignment

_FLAG = re.compile(r"[-+].")
_STDIN = re.compile(r"/dev/(?:stdin|fd/0)|/proc/self/fd/0|-")


def only_parses(args: list[str]) -> bool:
    """Return whether a shell with these words only parses its script: `bash -n`."""
    parses, at = False, 0
    while at < len(args) and _FLAG.match(args[at]) and args[at] != "--":
        arg, given = args[at], args[at][0] == "-"
        # An `o` takes what follows: the full name of an option.
        letters = "" if arg.startswith("--") else arg[1:].partition("o")[0]
        if "i" in letters:
            return False
        if "n" in letters:
            parses = given
        elif arg == "--no-execute":
            parses = True
        elif arg in {"-o", "+o"} and args[at + 1 : at + 2] == ["noexec"]:
            parses = given
        at += 2 if _takes_word(arg) else 1
    return parses


def _takes_word(flag: str) -> bool:
    if flag.startswith("--"):
        return flag in {"--rcfile", "--init-file"}
    return flag[-1] in "oO"


_NO_PARSER = frozenset(["elvish", "nu", "xonsh"])


def _shell(call: CommandCall) -> Iterator[Answer]:
    args = list(call.args)
    if call.name not in _NO_PARSER and only_parses(args):
        return
    at, code, from_stdin = 0, False, False
    while at < len(args) and _FLAG.match(args[at]) and args[at] != "--":
        arg = args[at]
        if not arg.startswith("--"):
            code = code or (arg[0] == "-" and "c" in arg[1:])
            from_stdin = from_stdin or (arg[0] == "-" and "s" in arg[1:])
        at += 2 if _takes_word(arg) else 1
    operands = args[at + 1 :] if args[at : at + 1] == ["--"] else args[at:]
    if code:
        text, given = (operands[0], tuple(operands[1:])) if operands else (None, ())
        yield script(text, stdin=call.stdin, given=given)
    elif operands and not from_stdin and not _STDIN.fullmatch(operands[0]):
        yield from _file(operands[0])
    elif call.stdin and not {"--version", "--help"} & set(args):
        yield script(call.stdin.text, given=("bash", *operands) if operands else ())


def _file(path: str) -> Iterator[Answer]:
    if path.startswith(("/dev/fd/", "/proc/")):
        yield script(None)
    elif UNKNOWN in path:
        yield vaguely("opaque_code", "runs a script whose name is not known before")


def _source(call: CommandCall) -> Iterator[Answer]:
    path = call.args[0] if call.args else ""
    if _STDIN.fullmatch(path):
        given = tuple(call.args) if len(call.args) > 1 else ()
        yield script(call.stdin.text if call.stdin else None, here=True, given=given)
    elif path.startswith(("/dev/fd/", "/proc/")):
        yield script(None)
    elif path and not path.strip(SECRET):
        yield vaguely("opaque_code", "reads a script whose name is not known before")


def _eval(call: CommandCall) -> Iterator[Answer]:
    words = call.args[1:] if call.args[:1] == ["--"] else call.args
    if words:
        yield script(" ".join(words), here=True)


def _history(call: CommandCall) -> Iterator[Answer]:
    if call.args and not options(call.args).has("-l"):
        yield script(None)


def _other_group(call: CommandCall) -> Iterator[Answer]:
    if call.stdin:
        yield script(call.stdin.text)


def _trap(call: CommandCall) -> Iterator[Answer]:
    operands = options(call.args).rest
    if len(operands) > 1 and operands[0] not in {"", "-"}:
        yield script(operands[0])


def _callback(call: CommandCall) -> Iterator[Answer]:
    """Handle mapfile -C, complete -C, bind -x."""
    given = options(call.args, "C F W d n O s u c x A G P S X")
    for text in given.all_values("-C"):
        yield script(text)
    if call.name == "compgen" and any(
        "$(" in text or "`" in text for text in given.all_values("-W")
    ):
        yield ask("arithmetic_code", "compgen would run the command in its list of words")
    if call.name == "bind" and given.has("-x"):
        yield ask("deferred", "binds a key to a command")


def _enable(call: CommandCall) -> Iterator[Answer]:
    if options(call.args).has("-f"):
        yield ask("loaded_code", "loads a builtin from a file")


def _hash(call: CommandCall) -> Iterator[Answer]:
    if options(call.args, "p").has("-p"):
        yield ask("loaded_code", "makes a name run a different program")


def _subscript(call: CommandCall) -> Iterator[Answer]:
    """Handle builtins that evaluate array subscripts in their arguments."""
    for arg in call.args:
        if "[" in arg and ("$(" in arg or "`" in arg):
            yield ask("arithmetic_code", f"{call.name} would run the command in a subscript")


def _declaration(call: CommandCall) -> Iterator[Answer]:
    """Handle expanded words: `export "$line"`."""
    yield from _subscript(call)
    for word in call.args:
        name, equals, value = word.partition("=")
        if equals or UNKNOWN in name:
            yield from assignment(name, value)


def _formatted(call: CommandCall) -> Iterator[Answer]:
    """Handle `printf -v NAME`: its other words are text."""
    names = options(call.args, "v", stop=True).all_values("-v")
    yield from _subscript(CommandCall("printf", names, call.cwd, call.home))


def _let(call: CommandCall) -> Iterator[Answer]:
    for arg in call.args:
        if "$(" in arg or "`" in arg:
            yield ask("arithmetic_code", "arithmetic would run the command in its text")


_SHELLS = "bash sh zsh dash ksh ash mksh fish rbash lksh pdksh yash csh tcsh elvish nu xonsh"
TRANSPARENT = frozenset([*_SHELLS.split(), "eval", "source", "."])

RULES: RuleTable = {
    **table(_SHELLS, _shell),
    **table("source .", _source),
    "eval": _eval,
    "fc": _history,
    "newgrp": _other_group,
    "trap": _trap,
    **table("mapfile readarray complete compgen bind", _callback),
    "enable": _enable,
    **table("test [ read unset wait", _subscript),
    **table("declare typeset local export readonly", _declaration),
    "hash": _hash,
    "let": _let,
    "printf": _formatted,
}
