"""Parser of a tree of Python modules for measuring programs: syntax, imports, classes."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

Function = ast.FunctionDef | ast.AsyncFunctionDef
SKIPPED_FOLDERS = frozenset({"__pycache__", "node_modules", "dist"})


@dataclass(frozen=True)
class Module:
    """One file.

    Attributes:
        name: dotted name; that of the package for an `__init__.py`.
        path: relative to the tree, with forward slashes.
    """

    name: str
    path: str
    text: str
    tree: ast.Module

    @property
    def lines(self) -> int:
        return len(self.text.splitlines())

    @property
    def is_package(self) -> bool:
        return self.path.endswith("__init__.py")

    def functions(self) -> Iterator[Function]:
        """Yield every function and method, including nested ones."""
        for node in ast.walk(self.tree):
            if isinstance(node, Function):
                yield node

    def classes(self) -> Iterator[ast.ClassDef]:
        """Yield every class, including nested ones."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ClassDef):
                yield node


def read_modules(tree: Path, folder: str) -> list[Module]:
    """Parse every module below `tree/folder`, in order of path."""
    found = []
    for file in sorted((tree / folder).rglob("*.py")):
        inside = file.relative_to(tree)
        if SKIPPED_FOLDERS.intersection(inside.parts):
            continue
        text = file.read_text(encoding="utf-8")
        name = ".".join(inside.with_suffix("").parts).removesuffix(".__init__")
        found.append(Module(name, inside.as_posix(), text, ast.parse(text, filename=str(file))))
    return found


def imports(modules: Iterable[Module]) -> dict[str, set[str]]:
    """Map each module to the modules of the same tree that it imports.

    Imports inside functions or under TYPE_CHECKING count, too.
    """
    listed = list(modules)
    known = {module.name for module in listed}
    return {module.name: set(_imported(module, known)) - {module.name} for module in listed}


def _imported(module: Module, known: set[str]) -> Iterator[str]:
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                if inner in known:
                    yield inner
                elif node.module in known:
                    yield node.module


def importers(graph: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """Return the inverse graph."""
    found: dict[str, set[str]] = defaultdict(set)
    for module, used in graph.items():
        for name in used:
            found[name].add(module)
    return found


def knots(graph: Mapping[str, set[str]]) -> list[set[str]]:
    """Return the groups of modules that import each other in a circle, largest first."""
    order: list[str] = []
    seen: set[str] = set()
    for start in graph:
        _visit(start, graph, seen, order)
    backwards = importers(graph)
    taken: set[str] = set()
    groups = []
    for start in reversed(order):
        group: list[str] = []
        _visit(start, backwards, taken, group)
        if len(group) > 1:
            groups.append(set(group))
    return sorted(groups, key=lambda group: (-len(group), sorted(group)))


def _visit(start: str, graph: Mapping[str, set[str]], seen: set[str], order: list[str]) -> None:
    """Append everything reachable from `start` to `order`, each module after its imports."""
    if start in seen:
        return
    seen.add(start)
    stack = [(start, iter(sorted(graph.get(start, ()))))]
    while stack:
        name, rest = stack[-1]
        following = next((other for other in rest if other not in seen), None)
        if following is None:
            order.append(name)
            stack.pop()
        else:
            seen.add(following)
            stack.append((following, iter(sorted(graph.get(following, ())))))


def base_names(node: ast.ClassDef) -> set[str]:
    """Return the last part of each base of a class, without type arguments."""
    return {ast.unparse(base).partition("[")[0].rpartition(".")[2] for base in node.bases}


def members(node: ast.ClassDef) -> set[str]:
    """Return the names of methods and annotated attributes of a class body.

    Includes attributes that `__init__` sets on `self`.
    """
    found = set()
    for part in node.body:
        if isinstance(part, Function):
            found.add(part.name)
        elif isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
            found.add(part.target.id)
        elif isinstance(part, ast.Assign):
            found |= {target.id for target in part.targets if isinstance(target, ast.Name)}
    found |= {
        inner.attr
        for inner in ast.walk(node)
        if isinstance(inner, ast.Attribute)
        and isinstance(inner.ctx, ast.Store)
        and isinstance(inner.value, ast.Name)
        and inner.value.id == "self"
    }
    return found
