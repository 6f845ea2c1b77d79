"""What a command changes for the commands after it: directory, variables, files written."""

from __future__ import annotations

from app.policy.risk.call import UNKNOWN, Call, options
from app.policy.risk.expand import Scope

_READS_VARIABLES = frozenset({"read", "mapfile", "readarray", "getopts", "let", "printf", "unset"})


def apply(call: Call, scope: Scope) -> None:
    """Update `scope` as running `call` in this shell would."""
    if call.name in {"cd", "pushd", "chdir"}:
        scope.cwd = _directory(call)
    elif call.name == "popd":
        scope.cwd = None
    elif call.name == "alias":
        _define_aliases(call, scope)
    elif call.name in _READS_VARIABLES:
        scope.forget({arg.split("=", 1)[0] for arg in call.args} | {"REPLY", "MAPFILE", "OPTARG"})
    elif call.name in {"source", "."}:
        scope.variables = {
            key: scope.variables[key] for key in ("HOME", "IFS") if key in scope.variables
        }
    for path, text in written_files(call, scope).items():
        scope.files[path] = text


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
        paths = [call.at(path) for path in options(call.args, "t m o g S").rest]
        if len(paths) == 2 and paths[0] in scope.files:
            return {paths[1]: scope.files[paths[0]]}
    return {}


def _downloads(call: Call) -> list[str]:
    given = options(
        call.args,
        "o -output O -output-document H d X A u P e -header"
        if call.name == "wget"
        else "o -output H -header d -data X -request A u -user e T F",
    )
    names = given.all_values("-o", "-O", "--output", "--output-document")
    if call.name == "wget" or given.has("-O", "--remote-name"):
        names += [url.split("?", 1)[0].rstrip("/").rsplit("/", 1)[-1] for url in given.rest]
    return [call.at(name) for name in names if name not in {"-", "", "/dev/null"}]
