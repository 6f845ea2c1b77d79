"""What a command changes for the commands after it: directory, variables, files written."""

from __future__ import annotations

import re

from app.policy.risk import fold
from app.policy.risk.call import UNKNOWN, Call, names, options
from app.policy.risk.scope import Scope
from app.policy.risk.syntax import EVERY_NAME

_PROGRAM = re.compile(r"/(?:usr/)?(?:local/)?s?bin/[\w.+-]+$")
_READS_VARIABLES = frozenset(
    {"read", "mapfile", "readarray", "getopts", "let", "printf", "unset", "wait"}
)


EFFECTIVE = _READS_VARIABLES | set(
    names(
        "set shift cd pushd chdir popd alias source . trap tee curl wget aria2c cp mv ln "
        "install dd sponge"
    )
)


def apply(call: Call, scope: Scope) -> None:
    """Update `scope` as running `call` in this shell would."""
    if call.name in {"cd", "pushd", "chdir"}:
        scope.cwd = _directory(call)
    elif call.name == "popd":
        scope.cwd = None
    elif call.name == "alias":
        _define_aliases(call, scope)
    elif call.name in _READS_VARIABLES:
        scope.drop({arg.split("=", 1)[0] for arg in call.args} | {"REPLY", "MAPFILE", "OPTARG"})
        _read(call, scope)
    elif call.name in {"set", "shift"}:
        _arguments(call, scope)
    elif call.name in {"source", "."}:
        scope.variables = scope.child().variables
    elif call.name == "trap" and any("=" in arg or "eval" in arg for arg in call.args[:1]):
        scope.poisoned.add(EVERY_NAME)
    for path, text in written_files(call, scope).items():
        scope.files[path] = text


def _read(call: Call, scope: Scope) -> None:
    """`read`, `mapfile` and `printf -v` set what their input or their words tell."""
    if call.name == "printf":
        given = options(call.args, "v", stop=True)
        rest = Call("printf", given.rest, call.cwd, call.home)
        for name in given.all_values("-v"):
            scope.record(name, fold.output(rest).text)
        return
    text = call.stdin.text if call.stdin else None
    if text is None or call.name not in {"read", "mapfile", "readarray"}:
        return
    given = options(call.args, "d i n N p t u O s c C" if call.name == "read" else "d n O s u C c")
    if call.name != "read":
        scope.list_words((given.rest or ["MAPFILE"])[-1], text.splitlines())
    elif given.has("-a") and given.rest:
        scope.list_words(given.rest[0], text.split())
    else:
        wanted = given.rest or ["REPLY"]
        for line in text.splitlines()[:8]:
            for name, value in zip(wanted, line.split(None, len(wanted) - 1), strict=False):
                scope.record(name, value)


def _arguments(call: Call, scope: Scope) -> None:
    if call.name == "shift":
        count = int(call.args[0]) if call.args and call.args[0].isdecimal() else 1
        if "@" in scope.lists:
            scope.list_words("@", scope.lists["@"][count:])
    elif "--" in call.args:
        scope.list_words("@", call.args[call.args.index("--") + 1 :])
    elif rest := options(call.args, "o", stop=True).rest:
        scope.list_words("@", rest)


def _directory(call: Call) -> str | None:
    given = options(call.args)
    if not given.rest:
        return call.home if "-" not in call.args else None
    target = given.rest[0]
    if target == "-" or target.startswith("+"):
        return None
    resolved = call.at(target)
    return None if UNKNOWN in resolved or any(char in resolved for char in "*?[") else resolved


def _define_aliases(call: Call, scope: Scope) -> None:
    for arg in call.args:
        name, equals, value = arg.partition("=")
        if equals:
            scope.aliases[name] = value


def written_files(call: Call, scope: Scope) -> dict[str, str | None]:
    """Absolute path to content (None: not known) for files that `call` writes by itself."""
    if call.name == "tee":
        text = call.stdin.text if call.stdin else None
        return {call.at(path): text for path in options(call.args).rest}
    if call.name in {"curl", "wget", "aria2c"}:
        return dict.fromkeys(_downloads(call))
    if call.name in {"cp", "mv", "ln", "install"}:
        return _copied(call, scope)
    if call.name in {"dd", "sponge"}:
        written = [arg.removeprefix("of=") for arg in call.args if arg.startswith("of=")]
        written += call.args if call.name == "sponge" else []
        text = call.stdin.text if call.stdin else None
        return {call.at(path): text for path in written}
    return {}


def _copied(call: Call, scope: Scope) -> dict[str, str | None]:
    operands = options(call.args, "t m o g S").rest
    if len(operands) != 2:
        return {}
    source, target = (call.at(path) for path in operands)
    if operands[0] in {"-", "/dev/stdin"}:
        return {target: call.stdin.text if call.stdin else None}
    if source in scope.files:
        return {target: scope.files[source]}
    if _PROGRAM.match(source):
        # Under its new name the program does what it did under the old one.
        return {target: f'{source} "$@"'}
    return {}


def _downloads(call: Call) -> list[str]:
    given = options(
        call.args,
        "o -output O -output-document H d X A u P e -header"
        if call.name == "wget"
        else "o -output H -header d -data X -request A u -user e T F",
    )
    saved = given.all_values("-o", "-O", "--output", "--output-document")
    if call.name == "wget" or given.has("-O", "--remote-name"):
        saved += [url.split("?", 1)[0].rstrip("/").rsplit("/", 1)[-1] for url in given.rest]
    return [call.at(name) for name in saved if name not in {"-", "", "/dev/null"}]
