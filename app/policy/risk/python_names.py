"""Meanings of names and constants in a Python syntax tree."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from app.policy.risk.call import names as words

IMPORTS = frozenset(
    ["__import__", "builtins.__import__", "importlib.import_module", "importlib.__import__"]
)

PROCESS = re.compile(
    r"(?:subprocess\.(?:run|call|check_call|check_output|Popen|getoutput|"
    r"getstatusoutput)|os\.(?:system|popen|exec\w+|spawn\w+|posix_spawnp?)"
    r"|asyncio\.create_subprocess_(?:exec|shell)|commands\.getoutput|"
    r"sh\.\w+|pexpect\.\w+|invoke\.run)$"
)
"""Functions that start another program."""


def dotted(node: ast.expr, names: dict[str, str]) -> str:
    """Return the full name, such as `os.path.join`, through the imports in `names`; "": unknown."""
    if isinstance(node, ast.Name):
        return names.get(node.id, node.id)
    if isinstance(node, ast.Attribute):
        base = dotted(node.value, names)
        return f"{base}.{node.attr}" if base else ""
    if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
        called = dotted(node.func, names)
        if called in IMPORTS and isinstance(node.args[0].value, str):
            return node.args[0].value
        if called == "pathlib.Path":
            return "pathlib.Path"
    return ""


_SHOWS = frozenset(words("print dir help type id repr str len isinstance hasattr callable getattr"))


def loose_modules(
    nodes: list[ast.AST], names: dict[str, str], modules: frozenset[str]
) -> list[str]:
    """Return the `modules` passed on as values, whose calls are unknown."""
    if modules.isdisjoint(names.values()) and not IMPORTS.intersection(
        dotted(node.func, names) for node in nodes if isinstance(node, ast.Call)
    ):
        return []
    seen: set[int] = set()
    for node in nodes:
        if isinstance(node, ast.Attribute | ast.Assign):
            seen.add(id(node.value))
        elif isinstance(node, ast.Call) and _only_shows(dotted(node.func, names)):
            seen.update(id(given) for given in node.args)
    values = (
        (node, dotted(node, names))
        for node in nodes
        if (isinstance(node, ast.Name) and node.id in names and isinstance(node.ctx, ast.Load))
        or (isinstance(node, ast.Call) and dotted(node.func, names) in IMPORTS)
    )
    return [path for node, path in values if path in modules and id(node) not in seen]


def shown_values(nodes: Sequence[ast.AST], names: dict[str, str]) -> set[int]:
    """Return nodes passed to functions that only show them, such as `help(os.remove)`."""
    defined = set(names)
    for node in nodes:
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            defined.add(node.id if isinstance(node, ast.Name) else node.attr)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            defined.add(node.name)
        elif isinstance(node, ast.arg):
            defined.add(node.arg)
    shows = _SHOWS - defined - {"getattr"}
    return {
        id(given)
        for node in nodes
        if isinstance(node, ast.Call)
        and ((path := dotted(node.func, names)) in shows or path.startswith("inspect."))
        for given in node.args
    }


def _only_shows(path: str) -> bool:
    return path in _SHOWS or path.startswith("inspect.") or path == "importlib.reload"


def constant(node: ast.expr | None) -> object:
    """Return the value of a literal or a concatenation of literals; None: unknown."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = constant(node.left), constant(node.right)
        return left + right if isinstance(left, str) and isinstance(right, str) else None
    return None


def words_of(node: ast.expr | None) -> list[str] | None:
    """Return the texts of a literal list; None for anything else."""
    if not isinstance(node, ast.List | ast.Tuple):
        return None
    values = [constant(item) for item in node.elts]
    return (
        [str(value) for value in values]
        if all(isinstance(value, str) for value in values)
        else None
    )


def argument(node: ast.Call, at: int, name: str = "") -> ast.expr | None:
    """Return a call's argument for a parameter, by position or by name."""
    if len(node.args) > at:
        return node.args[at]
    return next((item.value for item in node.keywords if item.arg == name), None)
