"""Measure the code, from packages to functions.

    python3 -m scripts.metrics [--tree PATH] [--json] [--list MEASURE]

`make metrics` does the same.
`--tree` measures another checkout, so that two of them are compared with one definition.
The definitions:

- Lines are lines of files, with comments and empty ones.
- A function's lines run from `def` to its last line; nested functions count as well.
- A broad except catches everything: bare, `Exception` or `BaseException`.
- An import knot is a group of modules that import each other in a circle; imports inside functions
  and under TYPE_CHECKING count.
- `Any` is counted where it is used, not where it is imported; every `#` comment counts.
- A mock is a call of a `Mock` class, of `patch` or of `monkeypatch.setattr`; a sleep is a call of a
  `sleep` with anything but 0; a test is a function named `test_…`, however many cases it has.
- Constructor fields are the fields of a dataclass, inherited ones too, or the parameters of
  `__init__` without `self`.
- A class of `app/` implements a Protocol when it names it as a base, directly or not, or when it
  declares all of its members; a Protocol with `__call__` alone is implemented by functions and is
  not among those with few implementations.
- A top-level package is a folder of `app/`.
- A small module has fewer than 60 lines and one importer in `app/`; `__init__.py` is none.
- Duplicate pairs are those of `scripts/duplicates.py`.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import math
import re
import sys
import tokenize
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from scripts.duplicates import duplicate_pairs
from scripts.source_tree import Module, base_names, importers, imports, knots, members, read_modules

ROOT = Path(__file__).resolve().parent.parent
MANY_FIELDS = 12
SMALL_MODULE_LINES = 60
_MOCK = re.compile(r"(?:^|\.)(?:\w*Mock|patch(?:\.\w+)?|monkeypatch\.setattr)$")
_SLEEP = re.compile(r"(?:^|\.)sleep$")
_BROAD = {"Exception", "BaseException"}


@dataclass(frozen=True)
class Measure:
    """One row of the table.

    Attributes:
        values: values in the table, several numbers separated by a slash.
        items: counted items, for `--list`; may be empty.
    """

    title: str
    values: tuple[float, ...]
    items: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        return " / ".join(
            f"{value:,.4g}" if value < 100 else f"{value:,.0f}" for value in self.values
        )


@dataclass
class Code:
    """Modules of a checkout."""

    tree: Path
    app: list[Module] = field(init=False)
    tests: list[Module] = field(init=False)

    def __post_init__(self) -> None:
        self.app = read_modules(self.tree, "app")
        self.tests = read_modules(self.tree, "tests")

    @cached_property
    def lines(self) -> int:
        return sum(module.lines for module in self.app)

    @cached_property
    def graph(self) -> dict[str, set[str]]:
        return imports(self.app)

    @cached_property
    def classes(self) -> dict[str, list[tuple[Module, ast.ClassDef]]]:
        """Return every class of `app/` by name."""
        found = defaultdict(list)
        for module in self.app:
            for node in module.classes():
                found[node.name].append((module, node))
        return found


def place(module: Module, node: ast.stmt | ast.expr | ast.ExceptHandler) -> str:
    """Return the location of a node."""
    return f"{module.path}:{node.lineno}"


def sizes(code: Code) -> Measure:
    """Return the number of files, and thousands of lines."""
    return Measure("files / kLOC", (len(code.app), round(code.lines / 1000, 1)))


def file_lines(code: Code) -> Measure:
    """Return the lines of a file."""
    lengths = [module.lines for module in code.app]
    mean = round(code.lines / max(len(lengths), 1))
    return Measure("lines per file, mean / max", (mean, max(lengths, default=0)))


def function_lines(code: Code) -> Measure:
    """Return the lines of a function: 95th percentile by nearest rank, and maximum."""
    lengths = sorted(
        (function.end_lineno or function.lineno) - function.lineno + 1
        for module in code.app
        for function in module.functions()
    ) or [0]
    return Measure(
        "function lines, p95 / max", (lengths[math.ceil(len(lengths) * 0.95) - 1], lengths[-1])
    )


def broad_excepts(code: Code) -> Measure:
    """Return handlers that catch everything."""
    found = [
        place(module, node)
        for module in code.app
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ExceptHandler) and _is_broad(node)
    ]
    functions = sum(1 for module in code.app for _ in module.functions())
    share = round(1000 * len(found) / max(functions, 1), 1)
    return Measure("broad excepts per 1,000 functions", (share,), tuple(found))


def _is_broad(node: ast.ExceptHandler) -> bool:
    caught = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
    return any(kind is None or ast.unparse(kind) in _BROAD for kind in caught)


def import_knots(code: Code) -> Measure:
    """Return modules that import each other in a circle."""
    groups = knots(code.graph)
    items = tuple(" ".join(sorted(group)) for group in groups)
    return Measure("modules in import knots", (sum(map(len, groups)),), items)


def any_uses(code: Code) -> Measure:
    """Return the uses of `Any`."""
    found = [
        place(module, node)
        for module in code.app
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Name) and node.id == "Any"
    ]
    return Measure("`Any` per kLOC", (round(1000 * len(found) / max(code.lines, 1), 1),))


def comments(code: Code) -> Measure:
    """Return the number of comments."""
    total = sum(
        token.type == tokenize.COMMENT
        for module in code.app
        for token in tokenize.generate_tokens(io.StringIO(module.text).readline)
    )
    return Measure("comments per kLOC", (round(1000 * total / max(code.lines, 1), 1),))


def test_lines(code: Code) -> Measure:
    """Return the lines of tests per line of the application."""
    lines = sum(module.lines for module in code.tests)
    return Measure("test lines per app line", (round(lines / max(code.lines, 1), 2),))


def mocks_and_sleeps(code: Code) -> Measure:
    """Return mocks and sleeps per hundred tests."""
    tests = mocks = sleeps = 0
    for module in code.tests:
        tests += sum(function.name.startswith("test_") for function in module.functions())
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Call):
                name = ast.unparse(node.func)
                mocks += bool(_MOCK.search(name))
                sleeps += bool(_SLEEP.search(name)) and _waits(node)
    share = 100 / max(tests, 1)
    return Measure(
        "mocks / sleeps per 100 tests", (round(mocks * share, 1), round(sleeps * share, 1))
    )


def _waits(call: ast.Call) -> bool:
    return [ast.unparse(value) for value in call.args] != ["0"]


def top_packages(code: Code) -> Measure:
    """Return the folders of `app/`."""
    names = sorted({module.path.split("/")[1] for module in code.app if module.path.count("/") > 1})
    return Measure("top-level packages", (len(names),), tuple(names))


def long_constructors(code: Code) -> Measure:
    """Return classes with many constructor values."""
    found = [
        (fields, f"{place(module, node)} {name}: {fields}")
        for name, classes in code.classes.items()
        for module, node in classes
        if (fields := constructor_fields(code, node)) > MANY_FIELDS
    ]
    items = tuple(text for _, text in sorted(found, key=lambda entry: (-entry[0], entry[1])))
    return Measure(f"classes with > {MANY_FIELDS} constructor fields", (len(found),), items)


def constructor_fields(code: Code, node: ast.ClassDef) -> int:
    """Return how many values a dataclass or `__init__` takes; 0 for other classes."""
    for part in node.body:
        if isinstance(part, ast.FunctionDef) and part.name == "__init__":
            return len(part.args.posonlyargs) + len(part.args.args) + len(part.args.kwonlyargs) - 1
    return len(_fields(code, node)) if _is_dataclass(node) else 0


def _fields(code: Code, node: ast.ClassDef) -> set[str]:
    """Return the fields of a dataclass and its base dataclasses."""
    own = {
        part.target.id
        for part in node.body
        if isinstance(part, ast.AnnAssign)
        and isinstance(part.target, ast.Name)
        and "ClassVar" not in ast.unparse(part.annotation)
        and not (part.value is not None and "init=False" in ast.unparse(part.value))
    }
    for base in base_names(node):
        known = code.classes.get(base, [])
        if len(known) == 1 and known[0][1] is not node and _is_dataclass(known[0][1]):
            own |= _fields(code, known[0][1])
    return own


def _is_dataclass(node: ast.ClassDef) -> bool:
    return any(
        ast.unparse(mark).partition("(")[0].endswith("dataclass") for mark in node.decorator_list
    )


def lonely_protocols(code: Code) -> Measure:
    """Return protocols implemented by at most one class."""
    every = [known for listed in code.classes.values() for known in listed]
    protocols = [(module, node) for module, node in every if "Protocol" in base_names(node)]
    others = [
        (node, _declared(code, node)) for _, node in every if "Protocol" not in base_names(node)
    ]
    found = []
    for module, node in protocols:
        wanted = _declared(code, node)
        heirs = _heirs(node.name, [other for other, _ in others])
        count = sum(other.name in heirs or wanted <= declared for other, declared in others)
        if count <= 1 and wanted != {"__call__"}:
            found.append(f"{place(module, node)} {node.name}: {count}")
    title = "Protocols, all / with at most one implementation"
    return Measure(title, (len(protocols), len(found)), tuple(found))


def _declared(code: Code, node: ast.ClassDef) -> set[str]:
    """Return the members of a class and its bases."""
    found = members(node)
    for base in base_names(node) - {node.name}:
        known = code.classes.get(base, [])
        if len(known) == 1:
            found |= _declared(code, known[0][1])
    return found


def _heirs(name: str, classes: Iterable[ast.ClassDef]) -> set[str]:
    """Return the names of the direct and indirect subclasses."""
    found, waiting = {name}, [name]
    listed = list(classes)
    while waiting:
        parent = waiting.pop()
        new = {node.name for node in listed if parent in base_names(node)} - found
        found |= new
        waiting += new
    return found - {name}


def small_modules(code: Code) -> Measure:
    """Return short modules with one importer."""
    used_by = importers(code.graph)
    found = tuple(
        f"{module.path}: {module.lines} lines, used by {next(iter(used_by[module.name]))}"
        for module in code.app
        if not module.is_package
        and module.lines < SMALL_MODULE_LINES
        and len(used_by.get(module.name, ())) == 1
    )
    title = f"modules under {SMALL_MODULE_LINES} lines with one importer"
    return Measure(title, (len(found),), found)


def doubled_names(code: Code) -> Measure:
    """Return class names used twice."""
    found = {
        name: [place(*known) for known in classes]
        for name, classes in code.classes.items()
        if len(classes) > 1
    }
    items = tuple(f"{name}: {', '.join(places)}" for name, places in sorted(found.items()))
    return Measure("class names used twice", (len(found),), items)


def duplicates(code: Code) -> Measure:
    """Return pairs of nearly equal functions, in `app/` and in `tests/`."""
    pairs, in_tests = duplicate_pairs(code.app), duplicate_pairs(code.tests)
    items = tuple(f"{pair.alike:.0%} {pair.first} = {pair.second}" for pair in pairs)
    return Measure("duplicate pairs, app / tests", (len(pairs), len(in_tests)), items)


MEASURES: dict[str, Callable[[Code], Measure]] = {
    "sizes": sizes,
    "file_lines": file_lines,
    "function_lines": function_lines,
    "broad_excepts": broad_excepts,
    "import_knots": import_knots,
    "any": any_uses,
    "comments": comments,
    "test_lines": test_lines,
    "mocks_and_sleeps": mocks_and_sleeps,
    "top_packages": top_packages,
    "long_constructors": long_constructors,
    "lonely_protocols": lonely_protocols,
    "small_modules": small_modules,
    "doubled_names": doubled_names,
    "duplicates": duplicates,
}


def table(measures: Iterable[Measure]) -> Iterator[str]:
    """Yield one Markdown line per measure."""
    listed = list(measures)
    wide = max(len(measure.title) for measure in listed)
    yield f"| {'measure':<{wide}} | {'value':>14} |"
    yield f"|{'-' * (wide + 2)}|{'-' * 15}:|"
    for measure in listed:
        yield f"| {measure.title:<{wide}} | {measure.text:>14} |"


def main(arguments: Sequence[str]) -> int:
    """Measure and print; return 2 if the tree has no `app/`."""
    parser = argparse.ArgumentParser(prog="metrics", description="Measure the code of a checkout.")
    parser.add_argument("--tree", type=Path, default=ROOT, help="checkout to measure [this one]")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument(
        "--list", choices=sorted(MEASURES), metavar="MEASURE", help="print what a measure counts"
    )
    chosen = parser.parse_args(arguments)
    code = Code(chosen.tree)
    if not code.app:
        parser.error(f"{chosen.tree} has no modules under app/: name a checkout with --tree")
    if chosen.list:
        print(*MEASURES[chosen.list](code).items, sep="\n")
        return 0
    found = {name: measure(code) for name, measure in MEASURES.items()}
    if chosen.json:
        print(json.dumps({name: list(measure.values) for name, measure in found.items()}, indent=2))
    else:
        print(*table(found.values()), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
