"""What the names and constants in a Python syntax tree stand for."""

from __future__ import annotations

import ast

IMPORTS = frozenset(
    ["__import__", "builtins.__import__", "importlib.import_module", "importlib.__import__"]
)


def dotted(node: ast.expr, names: dict[str, str]) -> str:
    """The full name, such as `os.path.join`, through the imports in `names`; "": not told."""
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


def constant(node: ast.expr | None) -> object:
    """The value of a literal, also of one put together by `+`; None: not told."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = constant(node.left), constant(node.right)
        return left + right if isinstance(left, str) and isinstance(right, str) else None
    return None


def words_of(node: ast.expr | None) -> list[str] | None:
    """The texts of a literal list; None when it is no such list."""
    if not isinstance(node, ast.List | ast.Tuple):
        return None
    values = [constant(item) for item in node.elts]
    return (
        [str(value) for value in values]
        if all(isinstance(value, str) for value in values)
        else None
    )


def argument(node: ast.Call, at: int, name: str = "") -> ast.expr | None:
    """What a call gives for a parameter, by position or by name."""
    if len(node.args) > at:
        return node.args[at]
    return next((item.value for item in node.keywords if item.arg == name), None)
