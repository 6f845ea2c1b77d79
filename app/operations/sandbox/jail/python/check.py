"""Check of code before it runs: syntax errors, and uses not allowed at its level.

Parsing is bounded in size, because it blocks the interpreter. Code is never compiled here: nested
`finally` blocks grow exponentially when compiled.
"""

from __future__ import annotations

import ast
import threading
import warnings
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Literal

from app.operations.sandbox.jail.python.levels import (
    STANDARD_MODULES,
    absent,
    blocked_builtins,
    may_import,
)

FILENAME = "<code>"
MAX_CHARS = 200_000
EARLY_CHARS = 20_000
"""Maximum length of code checked in the service; longer code is checked where it runs."""
_MAX_SHOWN = 20
_MAX_NAME = 100
_MAX_LINE = 200

RefusalCode = Literal["syntax_error", "not_allowed", "code_too_long", "code_too_complex"]

_SHELL = "use the tool bash, or strictness 'lenient'"
_FILES = "use read_file and write_file, or strictness 'lenient'"
_NETWORK = "there is no network access; the tool bash may have it"
_INSTEAD = {
    "os": _SHELL,
    "subprocess": _SHELL,
    "shutil": _SHELL,
    "pathlib": _FILES,
    "glob": _FILES,
    "tempfile": _FILES,
    "open": _FILES,
    "io": _FILES,
    "socket": _NETWORK,
    "requests": _NETWORK,
    "httpx": _NETWORK,
    "urllib": _NETWORK,
    "input": "write the values into the code: no input is available",
    "breakpoint": "print what you want to see",
    "exit": "raise SystemExit",
    "quit": "raise SystemExit",
    "eval": "write the code itself; for data use json.loads",
    "exec": "write the code itself",
    "compile": "write the code itself",
    "__import__": "use an import statement",
    "bytearray": "use bytes, or array in 'standard' mode",
    "memoryview": "use bytes",
}
_parsing = threading.Lock()


@dataclass(frozen=True, slots=True)
class CodeProblem:
    """Use that a level does not allow; `hint` suggests an alternative."""

    kind: Literal["import", "function", "absent"]
    name: str
    line: int
    hint: str

    def __str__(self) -> str:
        if self.kind == "absent":
            return f"line {self.line}: {self.hint}"
        what = "import " if self.kind == "import" else ""
        return f"line {self.line}: {what}{self.name[:_MAX_NAME]}: {self.hint}"


@dataclass(frozen=True, slots=True)
class CodeRefusal:
    """Refusal of code. `message` is for the code's author: the rule, then each line."""

    code: RefusalCode
    message: str
    problems: tuple[CodeProblem, ...] = ()


def check(code: str, level: str, extra: Collection[str] = ()) -> CodeRefusal | None:
    """Return why `code` may not run at `level`, or None. Never raises.

    Args:
        extra: modules allowed by an operator in addition to the level's own.
    """
    tree = parse(code)
    return tree if isinstance(tree, CodeRefusal) else examine(tree, level, extra)


def parse(code: str) -> ast.Module | CodeRefusal:
    """Return the syntax tree, or why there is none."""
    if len(code) > MAX_CHARS:
        return CodeRefusal(
            "code_too_long",
            f"The code has {len(code)} characters; the maximum is {MAX_CHARS}. Put "
            "data into files and read them in 'lenient' mode",
        )
    try:
        # Warning filters are process-wide, and code may cause any number of warnings.
        with _parsing, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(code, FILENAME)
    except SyntaxError as error:
        return refused_syntax(error, code)
    except (RecursionError, MemoryError):
        return CodeRefusal("code_too_complex", "The code is nested too deeply to be parsed")
    except ValueError as error:
        reason = "it contains half a surrogate pair" if "surrogate" in str(error) else str(error)
        return CodeRefusal("syntax_error", f"Syntax error in code: {reason}")


def refused_syntax(error: SyntaxError, code: str) -> CodeRefusal:
    """Return a syntax error with its line, whose text the compiler does not always know."""
    line = error.lineno or 0
    where = f" (line {line})" if line else ""
    text = error.text or "".join(code.splitlines()[max(line - 1, 0) : line])
    shown = f"\n    {text.strip()[:_MAX_LINE]}" if text.strip() else ""
    return CodeRefusal("syntax_error", f"Syntax error in code: {error.msg}{where}{shown}")


def examine(tree: ast.Module, level: str, extra: Collection[str] = ()) -> CodeRefusal | None:
    """Return all uses in a parsed program that `level` does not allow."""
    if level == "lenient":
        return None
    found = sorted(
        {*_imports(tree, level, extra), *_builtins(tree, level)},
        key=lambda problem: (problem.line, problem.name),
    )
    return CodeRefusal("not_allowed", _message(found, level), tuple(found)) if found else None


def used(tree: ast.Module, extra: Collection[str]) -> tuple[str, ...]:
    """Return the extra modules that a program imports, directly or through a submodule."""
    names: set[str] = set()
    for node in ast.walk(tree) if extra else ():
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return tuple(
        module
        for module in sorted(extra)
        if any(f"{name}.".startswith(f"{module}.") for name in names)
    )


def _imports(tree: ast.Module, level: str, extra: Collection[str]) -> Iterator[CodeProblem]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            named = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            named = _imported_from(node, level, extra)
        else:
            continue
        for name in named:
            if not name or not may_import(level, name, extra):
                shown = name or "a module relative to this one"
                yield CodeProblem("import", shown, node.lineno, _module_hint(name, level))
            elif (why := absent(name)) is not None:
                yield CodeProblem("absent", name, node.lineno, why)


def _imported_from(node: ast.ImportFrom, level: str, extra: Collection[str]) -> list[str]:
    """Return the module, or the imported names if only those are allowed; "" for relative
    imports.
    """
    module = node.module or ""
    if node.level or may_import(level, module, extra):
        return ["" if node.level else module]
    parts = [f"{module}.{alias.name}" for alias in node.names]
    return parts if any(may_import(level, part, extra) for part in parts) else [module]


def _builtins(tree: ast.Module, level: str) -> Iterator[CodeProblem]:
    """Yield uses of blocked names, except those that the program redefines.

    The latter are left to the guards that replace them at run time.
    """
    blocked = frozenset(blocked_builtins(level))
    used = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and node.id in blocked and isinstance(node.ctx, ast.Load)
    ]
    if not used:
        return
    own = {name for node in ast.walk(tree) for name in _bound(node)}
    for node in used:
        if node.id not in own:
            yield CodeProblem("function", node.id, node.lineno, _builtin_hint(node.id, level))


def _bound(node: ast.AST) -> Iterator[str]:
    """Yield the names that a node binds."""
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        yield node.id
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.arg):
        yield node.arg
    elif isinstance(node, ast.alias):
        yield node.asname or node.name.partition(".")[0]
    elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
        yield node.name
    elif isinstance(node, ast.MatchMapping) and node.rest:
        yield node.rest


def _module_hint(name: str, level: str) -> str:
    if level == "strict" and name and may_import("standard", name):
        return "use strictness 'standard'"
    if name.startswith("xml") or name == "":
        return f"import {'xml.etree.ElementTree' if name else 'modules by their full name'}"
    return _INSTEAD.get(name.partition(".")[0], "use strictness 'lenient', which asks first")


def _builtin_hint(name: str, level: str) -> str:
    if level == "strict" and name not in blocked_builtins("standard"):
        return "use strictness 'standard'"
    return _INSTEAD.get(name, "use strictness 'lenient', which asks first")


def _message(found: list[CodeProblem], level: str) -> str:
    """Return the violated rules, then suggestions line by line."""
    parts = []
    if modules := _named(found, "import"):
        parts.append(
            f"Blocked imports: {modules}. These modules are not allowed in '{level}' mode."
        )
    if functions := _named(found, "function"):
        parts.append(
            f"Blocked functions: {functions}. These functions are not allowed in '{level}' mode."
        )
    lines = [str(problem) for problem in found[:_MAX_SHOWN]]
    if len(found) > _MAX_SHOWN:
        lines.append(f"and {len(found) - _MAX_SHOWN} more")
    if modules and level == "standard":
        lines.append(f"Allowed modules: {', '.join(STANDARD_MODULES)}")
    return "\n".join([" ".join(parts), *lines] if parts else lines)


def _named(found: list[CodeProblem], kind: str) -> str:
    names = dict.fromkeys(problem.name for problem in found if problem.kind == kind)
    listed = [name[:_MAX_NAME] for name in list(names)[:_MAX_SHOWN]]
    return ", ".join([*listed, "…"] if len(names) > _MAX_SHOWN else listed)
