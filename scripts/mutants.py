"""Small faults that `scripts/mutations.py` inserts into the product, one at a time."""

from __future__ import annotations

import ast
import difflib
import random
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_FLIPPED: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", ">="),
    ast.LtE: ("<=", ">"),
    ast.Gt: (">", "<="),
    ast.GtE: (">=", "<"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: (r"is\s+not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: (r"not\s+in", "in"),
}
# Early return value of a function with this type.
_EARLY = {
    "None": "",
    "bool": " True",
    "int": " 0",
    "float": " 0.0",
    "str": ' ""',
    "bytes": ' b""',
    "list": " []",
    "dict": " {}",
    "tuple": " ()",
    "set": " set()",
    "frozenset": " frozenset()",
}


@dataclass(frozen=True)
class Mutation:
    """Fault: the bytes from `start` to `end` of a file become `text`."""

    file: str
    line: int
    kind: str
    start: int
    end: int
    text: str

    @property
    def package(self) -> str:
        """Return the folder of the module."""
        return self.file.rpartition("/")[0]

    def applied(self, source: bytes) -> bytes:
        """Return the source with only this fault."""
        return source[: self.start] + self.text.encode() + source[self.end :]

    def diff(self, source: bytes) -> str:
        """Return the fault as a readable diff."""
        before, after = (text.decode().splitlines() for text in (source, self.applied(source)))
        return "\n".join(
            difflib.unified_diff(before, after, self.file, self.file, n=1, lineterm="")
        )


def chosen(tree: Path, *, count: int, seed: int) -> list[Mutation]:
    """Choose faults, alternating between packages and kinds.

    The same sources under `app/` and the same seed give the same list, at any location.
    """
    lots = random.Random(seed)  # noqa: S311 # repeatable on purpose
    packages: dict[str, dict[str, list[Mutation]]] = defaultdict(lambda: defaultdict(list))
    files = (path.relative_to(tree).as_posix() for path in (tree / "app").rglob("*.py"))
    for name in sorted(files):
        for mutation in mutations(name, (tree / name).read_bytes()):
            packages[mutation.package][mutation.kind].append(mutation)
    picked: list[Mutation] = []
    while packages and len(picked) < count:
        order = sorted(packages)
        lots.shuffle(order)
        for package in order[: count - len(picked)]:
            kinds = packages[package]
            kind = lots.choice(sorted(kinds))
            one = kinds[kind].pop(lots.randrange(len(kinds[kind])))
            if _compiles(one, (tree / one.file).read_bytes()):
                picked.append(one)
            if not kinds[kind]:
                del kinds[kind]
            if not kinds:
                del packages[package]
    return picked


def mutations(file: str, source: bytes) -> list[Mutation]:
    """Return every possible fault of one module, in source order."""
    found = _Finder(file, source)
    made = [
        mutation
        for node in ast.walk(ast.parse(source))
        for mutation in (
            *found.flips(node),
            *found.dropped_guards(node),
            *found.changed_defaults(node),
            *found.early_returns(node),
        )
    ]
    unique = {(one.start, one.end, one.kind): one for one in made}
    return [unique[place] for place in sorted(unique)]


def _compiles(mutation: Mutation, source: bytes) -> bool:
    try:
        compile(mutation.applied(source), mutation.file, "exec", dont_inherit=True)
    except SyntaxError:
        return False
    return True


class _Finder:
    """Locates each node of one module in its bytes."""

    def __init__(self, file: str, source: bytes) -> None:
        self._file = file
        self._source = source
        self._lines = [0]
        for line in source.splitlines(keepends=True):
            self._lines.append(self._lines[-1] + len(line))

    def flips(self, node: ast.AST) -> Iterator[Mutation]:
        """Yield faults where `a < b` becomes `a >= b`; in a chain, only the first comparison."""
        if not isinstance(node, ast.Compare):
            return
        word, other = _FLIPPED[type(node.ops[0])]
        start, end = self._span(node.left)[1], self._span(node.comparators[0])[0]
        between = re.fullmatch(
            rf"[\s)]*(?P<word>{word})[\s(]*", self._source[start:end].decode(), re.ASCII
        )
        if between is not None:
            begin, stop = between.span("word")
            yield self._change(node, "flip", (start + begin, start + stop), other)

    def dropped_guards(self, node: ast.AST) -> Iterator[Mutation]:
        """Yield faults where `if …: raise` and `if …: return` never do so."""
        if (
            isinstance(node, ast.If)
            and isinstance(node.body[-1], ast.Raise | ast.Return)
            and not any(isinstance(part, ast.NamedExpr) for part in ast.walk(node.test))
        ):
            yield self._change(node.test, "guard", self._span(node.test), "False")

    def changed_defaults(self, node: ast.AST) -> Iterator[Mutation]:
        """Yield faults with another constant default of a parameter or field."""
        for value in _defaults(node):
            if isinstance(value, ast.Constant) and value.lineno == value.end_lineno:
                other = _other(value.value)
                if other is not None:
                    yield self._change(value, "default", self._span(value), other)

    def early_returns(self, node: ast.AST) -> Iterator[Mutation]:
        """Yield faults where a function returns before its first statement, or its last if it
        returns nothing.
        """
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or _yields(node):
            return
        body = node.body[1:] if ast.get_docstring(node) is not None else node.body
        if not body or node.returns is None or all(_is_nothing(one) for one in body):
            return
        annotation = ast.unparse(node.returns)
        value = " None" if annotation.endswith("| None") else _EARLY.get(annotation.split("[")[0])
        if value is None or body[0].lineno == node.lineno:
            return
        for one in (body[0], body[-1]) if annotation == "None" else body[:1]:
            start = self._span(one)[0]
            indent = self._source[self._lines[one.lineno - 1] : start].decode()
            if not indent.strip() and not getattr(one, "decorator_list", []):
                yield self._change(one, "early", (start, start), f"return{value}\n{indent}")

    def _change(
        self, node: ast.expr | ast.stmt, kind: str, span: tuple[int, int], text: str
    ) -> Mutation:
        return Mutation(self._file, node.lineno, kind, *span, text)

    def _span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return (
            self._lines[node.lineno - 1] + node.col_offset,
            self._lines[node.end_lineno - 1] + node.end_col_offset,
        )


def _defaults(node: ast.AST) -> Iterator[ast.expr | None]:
    if isinstance(node, ast.arguments):
        yield from (*node.defaults, *node.kw_defaults)
    if isinstance(node, ast.ClassDef):
        for one in node.body:
            if isinstance(one, ast.AnnAssign):
                yield _given(one.value)


def _given(value: ast.expr | None) -> ast.expr | None:
    """Return the default itself, including one in `Field(…)`."""
    if not isinstance(value, ast.Call) or "field" not in ast.unparse(value.func).lower():
        return value
    named = [word.value for word in value.keywords if word.arg == "default"]
    return next(iter((*named, *value.args[:1])), None)


def _other(value: object) -> str | None:
    match value:
        case bool():
            return str(not value)
        case int() | float():
            return repr(value * 2 + 1)
        case str():
            return '""' if value else '"changed"'
    return None


def _yields(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(isinstance(part, ast.Yield | ast.YieldFrom) for part in ast.walk(node))


def _is_nothing(node: ast.stmt) -> bool:
    return isinstance(node, ast.Pass) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    )
