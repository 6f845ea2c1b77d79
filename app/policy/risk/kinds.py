"""Kinds of files that a command runs, by name, first line and imports."""

from __future__ import annotations

import re
from collections.abc import Sequence

from app.policy.risk.call import names

SHELL, SOURCED, PYTHON, NODE = "shell", "sourced", "python", "node"
PROGRAM, PACKAGE, MAKEFILE, JUSTFILE = "program", "package", "makefile", "justfile"
TESTS, GIT, READ, COPIED = "tests", "git", "read", "copied"
VIM, GDB, TASKFILE = "vim", "gdb", "taskfile"
_SHELLS = names("bash sh zsh dash ksh ash mksh rbash")

_BY_PROGRAM = {
    **dict.fromkeys(_SHELLS, SHELL),
    **dict.fromkeys(names("python python2 python3 pypy pypy3"), PYTHON),
    **dict.fromkeys(names("node nodejs bun deno tsx ts-node"), NODE),
    **{name: name for name in ("perl", "ruby", "php", "lua", "julia", "groovy", "scala")},
    "Rscript": "R",
    "tclsh": "tcl",
    "expect": "tcl",
}
_BY_ENDING = {
    **dict.fromkeys(names("sh bash zsh ksh"), SHELL),
    **dict.fromkeys(names("py pyw"), PYTHON),
    **dict.fromkeys(names("js mjs cjs ts mts cts jsx tsx"), NODE),
    "rb": "ruby",
    "pl": "perl",
    "php": "php",
    "lua": "lua",
    "jl": "julia",
    "ps1": "powershell",
    "bat": "cmd",
    "cmd": "cmd",
}
_FIRST_LINE = re.compile(r"#!\s*(\S+)((?:\s+\S+)*)")


def language_of(path: str, text: str) -> str:
    """Return the language of a file run by its own name; a shell by default."""
    if match := _FIRST_LINE.match(text):
        words = [match.group(1), *match.group(2).split()]
        program = words[0].rsplit("/", 1)[-1]
        if program == "env":
            rest = [word for word in words[1:] if word[0] != "-" and "=" not in word]
            program = rest[0].rsplit("/", 1)[-1] if rest else ""
        bare = re.sub(r"[\d.]+$", "", program)
        return _BY_PROGRAM.get(program) or _BY_PROGRAM.get(bare) or (program or SHELL)
    ending = path.rsplit("/", 1)[-1].rpartition(".")[2]
    return _BY_ENDING.get(ending.lower(), SHELL)


def language_by_name(path: str) -> str | None:
    """Return the language of a file's suffix; None if unknown."""
    return _BY_ENDING.get(path.rsplit("/", 1)[-1].rpartition(".")[2].lower())


def imported(path: str, language: str, text: str) -> Sequence[str]:
    """Return possible locations of imported modules, relative to the program's folder."""
    if language == PYTHON:
        return _python_imports(text)
    if language == NODE:
        return _node_imports(text)
    if language == MAKEFILE:
        return [word for line in _INCLUDED.findall(text) for word in line.split()]
    if language == "ruby":
        return [f"{name}.rb" for name in _RUBY_IMPORT.findall(text)]
    return ()


_PYTHON_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(\.*[\w.]*)[ \t]+import[ \t]+\(?([\w, \t\n]*)|import[ \t]+([\w., \t]+))",
    re.MULTILINE,
)
_NODE_IMPORT = re.compile(
    r"(?:\brequire\s*\(|\bimport\s*\(|\bfrom\b|\bimport\b)\s*['\"](\.{1,2}/[^'\"\n]+)['\"]"
)
_RUBY_IMPORT = re.compile(r"\brequire_relative\s*\(?\s*['\"]([^'\"\n]+)['\"]")
_INCLUDED = re.compile(r"^\s*[-s]?include\s+([^$#\n]+)$", re.MULTILINE)
_NAMED_IMPORT = re.compile(r"\b(?:__import__|import_module)\s*\(\s*['\"]([\w.]+)['\"]")
_MOST_IMPORTS = 60


def _python_imports(text: str) -> list[str]:
    modules: dict[str, None] = {}
    for base, from_names, plain in _PYTHON_IMPORT.findall(text):
        if plain:
            for item in plain.split(","):
                modules[item.split(" as ")[0].strip()] = None
            continue
        modules[base] = None
        for name in re.findall(r"\w+", from_names)[:20]:
            modules[f"{base}.{name}" if base.strip(".") else f"{base}{name}"] = None
    modules |= dict.fromkeys(_NAMED_IMPORT.findall(text))
    found: list[str] = []
    for module in list(modules)[:_MOST_IMPORTS]:
        bare = module.lstrip(".")
        up = "../" * max(0, len(module) - len(bare) - 1)
        path = up + bare.replace(".", "/")
        if bare:
            found += [f"{path}.py", f"{path}/__init__.py"]
            found += [f"{up}{part}" for part in packages_on_the_way(bare)]
    return list(dict.fromkeys(found))


def packages_on_the_way(module: str) -> list[str]:
    parts = module.split(".")
    return ["/".join(parts[:at]) + "/__init__.py" for at in range(1, len(parts))]


def _node_imports(text: str) -> list[str]:
    found: list[str] = []
    for path in _NODE_IMPORT.findall(text)[:_MOST_IMPORTS]:
        found += [path, *(f"{path}{end}" for end in (".js", ".ts", ".mjs", ".cjs", "/index.js"))]
    return found
