"""Paths in expressions of a Python program."""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Sequence
from functools import cached_property

from app.policy.risk.call import UNKNOWN
from app.policy.risk.call import names as words
from app.policy.risk.python_names import PROCESS, argument, constant, dotted, shown_values

_SAME = frozenset(
    words(
        "os.path.expanduser os.path.expandvars os.path.abspath os.path.realpath os.path.normpath "
        "os.fspath str"
    )
)
_JOINS = frozenset(words("os.path.join pathlib.Path pathlib.PurePath"))
_SAME_METHODS = frozenset(words("expanduser resolve absolute as_posix"))
_VARIABLES = frozenset(words("os.environ.get os.getenv"))
_DEEPEST = 12
_MOST_CHOICES = 20


class PathReader:
    """Evaluator of paths built with `os.path` and `pathlib`.

    Attributes:
        names: names defined by the program's imports.
        nodes: all nodes of the program.
    """

    def __init__(self, nodes: Sequence[ast.AST], names: dict[str, str]) -> None:
        self.names = names
        self.nodes = nodes
        self.depth = 0

    @cached_property
    def values(self) -> dict[str, ast.expr]:
        """Return each variable's value, if it is assigned only once."""
        found: dict[str, ast.expr] = {}
        twice: set[str] = set()
        for node in self.nodes:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                name = node.targets[0].id
                twice |= {name} & found.keys()
                found[name] = node.value
        return {name: value for name, value in found.items() if name not in twice}

    @cached_property
    def shown(self) -> set[int]:
        """Return the nodes passed to functions that only show them."""
        return shown_values(self.nodes, self.names)

    @cached_property
    def choices(self) -> dict[str, list[ast.expr]]:
        """Return the values of a name from a loop over a list or from calls of a function."""
        found: dict[str, list[ast.expr]] = {}
        functions: dict[str, list[str]] = {}
        for node in self.nodes:
            if isinstance(node, ast.For | ast.comprehension) and isinstance(node.target, ast.Name):
                listed = node.iter
                if isinstance(listed, ast.Name):
                    listed = self.values.get(listed.id, listed)
                if isinstance(listed, ast.List | ast.Tuple | ast.Set):
                    found.setdefault(node.target.id, []).extend(listed.elts)
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                functions[node.name] = [given.arg for given in node.args.args]
        for node in self.nodes:
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                for name, given in zip(functions.get(node.func.id, ()), node.args, strict=False):
                    found.setdefault(name, []).append(given)
        return found

    def paths(self, node: ast.expr | None) -> list[str]:
        """Return each known path that `node` may evaluate to."""
        if (single := self.path(node)) is not None:
            return [single]
        if isinstance(node, ast.Call) and node.args:
            # `Path(name)` with a name that has one of several values.
            return self.paths(node.args[0]) if len(node.args) == 1 else []
        given = self.choices.get(node.id, ()) if isinstance(node, ast.Name) else ()
        return [text for item in given[:_MOST_CHOICES] if (text := self.path(item)) is not None]

    def path(self, node: ast.expr | None) -> str | None:
        """Return the path that `node` evaluates to; None: unknown."""
        if isinstance(text := constant(node), str):
            return text
        if node is None or self.depth > _DEEPEST:
            return None
        self.depth += 1
        found = self._composed(node)
        self.depth -= 1
        return found

    def words(self, node: ast.expr | None) -> list[str] | None:
        """Return the words of a list, with UNKNOWN for unknown ones; None: not a list."""
        if isinstance(node, ast.Name):
            node = self.values.get(node.id) if self._stays(node.id) else None
        if not isinstance(node, ast.List | ast.Tuple):
            return None
        return [self._word(item) for item in node.elts]

    def _stays(self, name: str) -> bool:
        """Return whether `name` is set once and then only passed to functions that start a
        program.
        """
        handed = {
            id(given)
            for call in self.nodes
            if isinstance(call, ast.Call) and PROCESS.match(dotted(call.func, self.names))
            for given in call.args
        }
        stores = 0
        for node in self.nodes:
            if isinstance(node, ast.arg) and node.arg == name:
                return False
            if isinstance(node, ast.Name) and node.id == name:
                stores += isinstance(node.ctx, ast.Store)
                if not isinstance(node.ctx, ast.Store) and id(node) not in handed:
                    return False
        return stores == 1

    def _word(self, node: ast.expr) -> str:
        if dotted(node, self.names) == "sys.executable":
            return "python3"
        text = constant(node)
        return text if isinstance(text, str) else UNKNOWN

    def _composed(self, node: ast.expr) -> str | None:
        match node:
            case ast.Name():
                return self.path(self.values.get(node.id))
            case ast.BinOp(op=ast.Div()):
                return self._joined([node.left, node.right])
            case ast.BinOp(op=ast.Add()):
                left, right = self.path(node.left), self.path(node.right)
                return left + right if left is not None and right is not None else None
            case ast.Subscript() if dotted(node.value, self.names) == "os.environ":
                return "~" if constant(node.slice) == "HOME" else None
            case ast.JoinedStr():
                pieces = [self.path(piece) for piece in node.values]
                return None if None in pieces else "".join(map(str, pieces))
            case ast.FormattedValue():
                return self.path(node.value)
            case ast.Call():
                return self._called(node)
        return None

    def _called(self, node: ast.Call) -> str | None:
        called = dotted(node.func, self.names)
        if called == "pathlib.Path.home":
            return "~"
        if called in _VARIABLES:
            return "~" if constant(argument(node, 0)) == "HOME" else None
        if called in _JOINS or called in _SAME:
            return self._joined(node.args)
        if isinstance(node.func, ast.Attribute) and node.func.attr in _SAME_METHODS:
            return self.path(node.func.value)
        if isinstance(node.func, ast.Attribute) and node.func.attr == "joinpath":
            return self._joined([node.func.value, *node.args])
        return None

    def _joined(self, nodes: Sequence[ast.expr]) -> str | None:
        pieces = [self.path(node) for node in nodes]
        if not pieces or None in pieces:
            return None
        return posixpath.join(*map(str, pieces))
