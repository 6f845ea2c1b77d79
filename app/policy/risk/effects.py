"""Effects of a command on later commands: directory, variables, files written."""

from __future__ import annotations

import re
from collections.abc import Sequence

from app.policy.risk import fold
from app.policy.risk.call import SECRET, UNKNOWN, CommandCall, names, options, resolve
from app.policy.risk.copies import COPYING, program_text
from app.policy.risk.scope import ShellScope, certain_words
from app.policy.risk.syntax import ARGUMENTS, EVERY_NAME

_SETTING = re.compile("=|eval|set|shift")
_STACK, _BEFORE = "DIRSTACK", "OLDPWD"
"""Key of the directory stack among the arrays."""
_NAMES_FIRST = frozenset(["read", "mapfile", "readarray", "getopts", "unset"])
_READS_VARIABLES = _NAMES_FIRST | {"let", "printf", "wait"}
DECLARING = frozenset(["export", "declare", "typeset", "local", "readonly"])
_MOVING = frozenset(["cd", "pushd", "chdir", "popd"])
EFFECTIVE = frozenset(
    [
        *_READS_VARIABLES,
        *DECLARING,
        *_MOVING,
        *names("set shift alias source . trap tee curl wget aria2c dd sponge"),
        *COPYING,
    ]
)


def apply(call: CommandCall, scope: ShellScope) -> None:
    """Update `scope` as running `call` in this shell would."""
    if call.name in _MOVING:
        _move(call, scope)
    elif call.name in DECLARING:
        _declare(call, scope)
    elif call.name == "alias":
        _define_aliases(call, scope)
    elif call.name in _READS_VARIABLES:
        if call.name in _NAMES_FIRST or "-v" in call.args or "-p" in call.args:
            _forget_unnamed(call.args, scope)
        scope.drop({arg.split("=", 1)[0] for arg in call.args} | {"REPLY", "MAPFILE", "OPTARG"})
        _read(call, scope)
    elif call.name in {"set", "shift"}:
        _arguments(call, scope)
    elif call.name in {"source", "."}:
        scope.variables, scope.given = scope.child().variables, None
    elif call.name == "trap" and any(map(_SETTING.search, call.args[:1])):
        scope.poisoned.add(EVERY_NAME)
    for path, text in written_files(call, scope).items():
        scope.files[path] = text


def _read(call: CommandCall, scope: ShellScope) -> None:
    """Handle `read`, `mapfile` and `printf -v`, which set values from input or words."""
    if call.name == "printf":
        given = options(call.args, "v", stop=True)
        rest = CommandCall("printf", given.rest, call.cwd, call.home)
        for name in given.all_values("-v"):
            scope.record(name, fold.output(rest).text)
        return
    if call.stdin is None or call.name not in {"read", "mapfile", "readarray"}:
        return
    text = call.stdin.text
    given = options(call.args, "d i n N p t u O s c C" if call.name == "read" else "d n O s u C c")
    if call.stdin.secret:
        scope.variables |= dict.fromkeys(given.rest or ["REPLY", "MAPFILE"], SECRET)
    if text is None:
        return
    if call.name != "read":
        scope.list_words((given.rest or ["MAPFILE"])[-1], text.splitlines())
    elif given.has("-a") and given.rest:
        scope.list_words(given.rest[0], text.split())
    else:
        wanted = given.rest or ["REPLY"]
        for line in text.splitlines()[:8]:
            for name, value in zip(wanted, line.split(None, len(wanted) - 1), strict=False):
                scope.record(name, value)


def _arguments(call: CommandCall, scope: ShellScope) -> None:
    """Handle `shift` and `set`."""
    certain = call.name not in scope.functions and not any(UNKNOWN in arg for arg in call.args)
    if call.name == "shift":
        count = int(call.args[0][:9]) if call.args and call.args[0].isdecimal() else 1
        if ARGUMENTS in scope.lists:
            scope.list_words(ARGUMENTS, scope.lists[ARGUMENTS][count:])
        if scope.given is not None:
            certain = certain and len(call.args) < 2 and count <= len(scope.given)
            scope.given = scope.given[count:] if certain else None
        return
    words = _set_words(call.args)
    if words is not None:
        scope.list_words(ARGUMENTS, words)
        scope.given = certain_words(words)
    if not certain:
        scope.given = None


def _set_words(args: Sequence[str]) -> Sequence[str] | None:
    """Return the arguments set by `set`; None: unchanged."""
    at = 0
    while at < len(args) and args[at][:1] in {"-", "+"}:
        if args[at] in {"-", "--"}:
            return args[at + 1 :] if args[at] == "--" else args[at + 1 :] or None
        at += 2 if "o" in args[at] else 1
    return args[at:] or None


def _forget_unnamed(words: Sequence[str], scope: ShellScope) -> None:
    """Handle a variable with unknown name: any may be set."""
    if any(UNKNOWN in word.partition("=")[0] for word in words):
        scope.forget([EVERY_NAME])


def _declare(call: CommandCall, scope: ShellScope) -> None:
    """Handle declarations with expanded words: `export "$line"`, `local name`."""
    given = options(call.args)
    _forget_unnamed(given.rest, scope)
    for word in given.rest:
        name, equals, value = word.partition("=")
        if equals or call.name not in {"export", "readonly"}:
            scope.drop([name])
        if equals and not given.flags and UNKNOWN not in value and value[:1] != "(":
            scope.variables[name] = value
        if given.has("-n") and call.name != "export":
            # One becomes another name for the other from now on.
            scope.poisoned |= {name, value}


def _move(call: CommandCall, scope: ShellScope) -> None:
    """Set the working directory after `cd` and similar commands, or the possible ones."""
    if call.name in scope.functions:
        # A function with this name has moved as its body says.
        return
    before, stack = scope.cwd, scope.lists.get(_STACK, ())
    operands = options(call.args).rest
    target = operands[0] if operands else "~"
    if call.name == "popd":
        # With an empty stack it stays.
        scope.be_in([None, *(stack[-1:] or [before])])
        scope.list_words(_STACK, stack[:-1])
    elif target.startswith("+"):
        scope.be_in([None, *stack])
    elif "-" in call.args:
        scope.be_in([None, *scope.lists.get(_BEFORE, [before])])
    else:
        others = [_moved(target, place, call.home) for place in scope.places]
        scope.be_in([_moved(target, before, call.home)])
        scope.may_be_in(others)
    if before is not None:
        scope.list_words(_BEFORE, [before])
        if call.name == "pushd":
            scope.list_words(_STACK, [*stack, before])


def _moved(target: str, start: str | None, home: str) -> str | None:
    resolved = resolve(target, start, home)
    return None if UNKNOWN in resolved or any(char in resolved for char in "*?[") else resolved


def _define_aliases(call: CommandCall, scope: ShellScope) -> None:
    for arg in call.args:
        name, equals, value = arg.partition("=")
        if equals:
            scope.aliases[name] = value


def written_files(call: CommandCall, scope: ShellScope) -> dict[str, str | None]:
    """Return absolute path → content (None: unknown) of files that `call` writes itself."""
    if call.name == "tee":
        text = call.stdin.text if call.stdin else None
        return {call.at(path): text for path in options(call.args).rest}
    if call.name in {"curl", "wget", "aria2c"}:
        return dict.fromkeys(_downloads(call))
    if call.name in _FETCHES:
        return dict.fromkeys(_fetched(call))
    if call.name in {"cp", "mv", "ln", "install"}:
        return _copied(call, scope)
    if call.name in {"dd", "sponge"}:
        written = [arg.removeprefix("of=") for arg in call.args if arg.startswith("of=")]
        written += call.args if call.name == "sponge" else []
        text = call.stdin.text if call.stdin else None
        return {call.at(path): text for path in written}
    return {}


MOVING = frozenset(["mv", "gmv"])


def moved_over(call: CommandCall) -> list[str]:
    """Return the destinations of `mv`: an existing file there is lost."""
    given = options(call.args, "t S -target-directory -suffix")
    folder = given.value("-t", "--target-directory")
    sources = given.rest if folder else given.rest[:-1]
    if given.has("-n", "--no-clobber", "-b", "--backup", "-i", "--interactive") or not sources:
        return []
    target = folder or given.rest[-1]
    into = [f"{target.rstrip('/')}/{_last(source)}" for source in sources]
    return [call.at(path) for path in (*into, *([] if folder else [target]))]


def _copied(call: CommandCall, scope: ShellScope) -> dict[str, str | None]:
    given = options(call.args, "t m o g S -target-directory")
    folder = given.value("-t", "--target-directory")
    operands = [*given.rest, folder] if folder else given.rest
    if len(operands) != 2:
        return {}
    source, target = (call.at(path) for path in operands)
    if folder or operands[1].endswith("/") or operands[1] in {".", ".."}:
        target = f"{target.rstrip('/')}/{_last(source)}"
    if operands[0] in {"-", "/dev/stdin"}:
        return {target: call.stdin.text if call.stdin else None}
    if source in scope.files:
        return {target: scope.files[source]}
    text = program_text(source)
    return {} if text is None else {target: text}


def _downloads(call: CommandCall) -> list[str]:
    given = options(
        call.args,
        "o -output O -output-document H d X A u P -directory-prefix e -header"
        if call.name == "wget"
        else "o -output H -header d -data -dir -output-dir -out X -request A u -user e T F",
    )
    saved = given.all_values("-o", "-O", "--output", "--output-document", "--out")
    if call.name != "curl" or given.has("-O", "--remote-name", "--remote-name-all"):
        saved += [_last(url.split("?", 1)[0]) for url in given.rest]
    folder = given.value("-P", "--directory-prefix", "--output-dir", "--dir")
    if call.name == "aria2c":
        folder = given.value("-d", "--dir")
    names = [name for name in saved if name not in {"-", "", "/dev/null"}]
    return [call.at(f"{folder}/{name}" if folder and name[0] != "/" else name) for name in names]


def _last(path: str) -> str:
    return path.rstrip("/").rsplit("/", 1)[-1]


_FETCHES = frozenset(names("scp rsync aws gsutil gcloud s3cmd mc rclone"))


def _fetched(call: CommandCall) -> list[str]:
    """Return the destinations of copies from another host or a store."""
    words = options(call.args, "i P F o l c e -profile -region -exclude -include").rest
    if len(words) < 2 or ":" not in words[-2] or ":" in words[-1] or words[-1] == "-":
        return []
    target = call.at(words[-1])
    return [target, f"{target}/{_last(words[-2].rpartition(':')[2])}"]
