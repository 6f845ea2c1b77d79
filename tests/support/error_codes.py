"""All machine codes of errors in the sources, by static analysis.

Every argument `code` of a call is traced to its literal values: through constants, choices,
parameters (to all callers), tuples and literal types. A value from an object created with a `code`
counts where the object was created.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = Function | ast.ClassDef
_MOST_STEPS = 12


@dataclass(frozen=True)
class Place:
    """Expression, with its module and function."""

    module: Module
    function: Function | None
    value: ast.expr

    def at(self, value: ast.expr) -> Place:
        return Place(self.module, self.function, value)

    def __str__(self) -> str:
        return f"{self.module.path}:{self.value.lineno}: {ast.unparse(self.value)[:80]}"


@dataclass(frozen=True)
class Made:
    """Call with a `code`: the callee, and the code."""

    callee: str
    code: Place


class Module:
    """Parsed file."""

    def __init__(self, path: str, source: str) -> None:
        self.path = path
        self.tree = ast.parse(source)
        self.inside: dict[ast.AST, Function] = {}
        self.names: dict[str, list[ast.expr]] = {}
        self.imports: dict[str, str] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, Function):
                for child in ast.walk(node):
                    self.inside[child] = node  # innermost last
            elif isinstance(node, ast.ImportFrom) and node.module:
                path = node.module.removeprefix("app.").replace(".", "/") + ".py"
                self.imports.update({alias.asname or alias.name: path for alias in node.names})
        for statement in self.tree.body:
            for name, value in _bound(statement):
                self.names.setdefault(name, []).append(value)

    def place(self, value: ast.expr) -> Place:
        return Place(self, self.inside.get(value), value)


@dataclass
class Codes:
    """Result: each text with its callees, and the values that could not be traced."""

    texts: dict[str, set[str]] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)


class Sources:
    """All modules below a folder, with their codes.

    Args:
        modules: path → source.
        others: callees whose `code` is not an error's.
    """

    def __init__(self, modules: dict[str, str], others: frozenset[str]) -> None:
        self.modules = [Module(path, source) for path, source in sorted(modules.items())]
        self.others = others
        self.by_path = {module.path: module for module in self.modules}
        self.calls: dict[str, list[tuple[Module, ast.Call]]] = {}
        self.definitions: dict[str, list[tuple[Module, Definition]]] = {}
        for module in self.modules:
            for node in ast.walk(module.tree):
                if isinstance(node, ast.Call):
                    self.calls.setdefault(_last(node.func), []).append((module, node))
                elif isinstance(node, Definition):
                    self.definitions.setdefault(node.name, []).append((module, node))

    @classmethod
    def below(cls, folder: Path, others: frozenset[str], *, without: tuple[str, ...]) -> Sources:
        """Return those of a folder; `without`: excluded path prefixes below it.

        Result schemas only name fields, without codes.
        """
        found = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*.py")}
        return cls(
            {
                name: path.read_text(encoding="utf-8")
                for name, path in found.items()
                if not name.startswith(without) and not name.endswith("/returns.py")
            },
            others,
        )

    def codes(self) -> Codes:
        """Trace every given `code`."""
        found = Codes()
        for made in self._made():
            for text in self._texts(made.code, 0):
                if text is None:
                    found.unknown.append(f"{made.callee}: {made.code}")
                else:
                    found.texts.setdefault(text, set()).add(made.callee)
        for name, text in self._listed():
            found.texts.setdefault(text, set()).add(name)
        return found

    def _listed(self) -> Iterator[tuple[str, str]]:
        """Yield the declared values of `code` in classes."""
        for name, places in self.definitions.items():
            for module, node in places if name not in self.others else ():
                for item in node.body if isinstance(node, ast.ClassDef) else ():
                    if isinstance(item, ast.AnnAssign) and _last(item.target) == "code":
                        for text in self._literal(module, item.annotation) or ():
                            yield name, text

    def _made(self) -> Iterator[Made]:
        for module in self.modules:
            for node in ast.walk(module.tree):
                if isinstance(node, ast.Call):
                    yield from self._passed(module, node)
                elif isinstance(node, ast.ClassDef) and node.name not in self.others:
                    yield from _declared(module, node)
                elif isinstance(node, ast.Dict):
                    yield from _written(module, node)

    def _passed(self, module: Module, call: ast.Call) -> Iterator[Made]:
        callee = _last(call.func)
        if callee not in self.others:
            for value in _arguments(call, "code", self._positions(module, call.func)):
                yield Made(callee, module.place(value))

    def _positions(self, module: Module, called: ast.expr) -> set[int]:
        """Return the argument positions of `code`."""
        definitions = self._definitions(module, called)
        lists = [_fields(node) for _, node in definitions]
        return {names.index("code") for names in lists if "code" in names}

    def _definitions(self, module: Module, called: ast.expr) -> list[tuple[Module, Definition]]:
        """Return possible definitions of a callee, in this module or an imported one."""
        name = _last(called)
        if isinstance(called, ast.Name) or ast.unparse(called) in {f"self.{name}", f"cls.{name}"}:
            homes = [module, *self._homes(module, name)]
        elif isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name):
            homes = [*self._homes(module, called.value.id), *self._modules(module, called.value.id)]
        else:
            homes = []
        return [found for found in self.definitions.get(name, ()) if found[0] in homes]

    def _texts(self, place: Place, steps: int) -> Iterator[str | None]:
        """Yield the possible values of an expression; None if unknown."""
        value = place.value
        if steps > _MOST_STEPS:
            yield None
        elif isinstance(value, ast.Constant | ast.UnaryOp):
            text = getattr(value, "value", None)  # a number is not one of our codes
            if isinstance(text, str) and text:
                yield text
        elif isinstance(value, ast.IfExp | ast.BoolOp):
            for branch in _branches(value):
                yield from self._texts(place.at(branch), steps)
        elif isinstance(value, ast.Name):
            yield from self._named(place, value.id, steps + 1)
        elif isinstance(value, ast.Call):
            yield from self._called(place, value, steps + 1)
        elif isinstance(value, ast.Subscript):
            yield from () if _is_code(value.slice) else self._item(place, (), steps + 1)
        elif isinstance(value, ast.Attribute):
            yield from self._attribute(place, value)
        else:
            yield None

    def _attribute(self, place: Place, value: ast.Attribute) -> Iterator[str | None]:
        if value.attr == "code":
            return  # it was passed to the creator of that object
        kind = _annotation(place.function, _last(value.value))
        for home, node in [] if kind is None else self._definitions(place.module, kind):
            for item in node.body:
                if isinstance(item, ast.AnnAssign) and _last(item.target) == value.attr:
                    yield from self._literal(home, item.annotation) or (None,)
                    return
        yield None

    def _named(self, place: Place, name: str, steps: int) -> Iterator[str | None]:
        function = place.function
        if function is not None:
            if name in _parameters(function):
                yield from self._parameter(place.module, function, name, steps)
                return
            local = [
                value
                for statement in ast.walk(function)
                for bound, value in _bound(statement)
                if bound == name
            ]
            if local:
                for value in local:
                    yield from self._texts(place.at(value), steps)
                return
        yield from self._global(place.module, name, steps)

    def _global(self, module: Module, name: str, steps: int) -> Iterator[str | None]:
        for value in module.names.get(name, ()):
            yield from self._texts(Place(module, None, value), steps)
        if name in module.names:
            return
        homes = [other for other in self._homes(module, name) if name in other.names]
        if not homes:
            yield None
        for home in homes:
            yield from self._global(home, name, steps + 1)

    def _homes(self, module: Module, name: str) -> list[Module]:
        """Return the module that a name is imported from."""
        origin = module.imports.get(name)
        return [self.by_path[origin]] if origin in self.by_path else []

    def _modules(self, module: Module, name: str) -> list[Module]:
        """Return the module imported under a name."""
        origin = module.imports.get(name, "").removesuffix(".py") + f"/{name}.py"
        return [self.by_path[origin]] if origin in self.by_path else []

    def _parameter(
        self, module: Module, function: Function, name: str, steps: int
    ) -> Iterator[str | None]:
        """Yield callers' values of a parameter, or those listed in its type."""
        annotation = _annotation(function, name)
        listed = None if annotation is None else self._literal(module, annotation)
        if listed is not None:
            yield from listed
            return
        if name == "code":
            return  # the function's calls are analyzed themselves
        places = list(self._callers(module, function, name))
        for place in places:
            yield from self._texts(place, steps)
        if not places:
            yield None

    def _callers(self, module: Module, function: Function, name: str) -> Iterator[Place]:
        """Yield callers' arguments for a parameter."""
        position = _parameters(function).index(name)
        for other, call in self.calls.get(function.name, ()):
            if (module, function) in self._definitions(other, call.func):
                for value in _arguments(call, name, {position}):
                    yield other.place(value)

    def _literal(self, module: Module, annotation: ast.expr) -> list[str] | None:
        """Return the texts of a literal type, or of its name."""
        if isinstance(annotation, ast.Subscript) and _last(annotation.value) == "Literal":
            inner = annotation.slice
            parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
            return [str(part.value) for part in parts if isinstance(part, ast.Constant)]
        if isinstance(annotation, ast.Name):
            for home in (module, *self._homes(module, annotation.id)):
                for value in home.names.get(annotation.id, ()):
                    return self._literal(home, value)
        return None

    def _called(self, place: Place, call: ast.Call, steps: int) -> Iterator[str | None]:
        callee = _last(call.func)
        if callee in {"str", "truncate", "clean"}:
            yield from self._texts(place.at(call.args[0]), steps)
        elif callee == "cast":
            assert isinstance(call.args[0], ast.Constant)
            named = ast.Name(str(call.args[0].value), ast.Load())
            yield from self._literal(place.module, named) or (None,)
        elif callee == "Field":
            for keyword in call.keywords:
                if keyword.arg == "default":
                    yield from self._texts(place.at(keyword.value), steps)
        elif callee == "get" and isinstance(call.func, ast.Attribute):
            if not _is_code(call.args[0]):
                yield from self._table(place.at(call.func.value), (), steps)
            for value in call.args[1:]:
                yield from self._texts(place.at(value), steps)
        else:
            yield from self._returned(place, call, (), steps)

    def _returned(
        self, place: Place, call: ast.Call, path: tuple[int, ...], steps: int
    ) -> Iterator[str | None]:
        """Yield the return values of a function; `path`: the part of a returned tuple."""
        found = False
        for module, function in self._definitions(place.module, call.func):
            if not isinstance(function, Function):
                continue
            for value in _returns(function):
                found = True
                yield from self._item(Place(module, function, value), path, steps + 1)
        if not found:
            yield None

    def _item(self, place: Place, path: tuple[int, ...], steps: int) -> Iterator[str | None]:
        """Yield a part of a value: of a tuple, of a table's values, of a result or argument."""
        value = place.value
        if steps > _MOST_STEPS:
            yield None
        elif isinstance(value, ast.Subscript):
            index = value.slice
            if isinstance(index, ast.Constant) and isinstance(index.value, int):
                yield from self._item(place.at(value.value), (index.value, *path), steps)
            else:
                yield from self._table(place.at(value.value), path, steps)
        elif isinstance(value, ast.Call) and path:
            yield from self._returned(place, value, path, steps)
        elif path:
            for given, rest in self._parts(place, path):
                yield from self._item(given, rest, steps + 1)
        else:
            yield from self._texts(place, steps)

    def _parts(
        self, place: Place, path: tuple[int, ...]
    ) -> Iterator[tuple[Place, tuple[int, ...]]]:
        """Yield where to look for a part of a value."""
        value = place.value
        if isinstance(value, ast.Tuple):
            yield place.at(value.elts[path[0]]), path[1:]
        elif isinstance(value, ast.IfExp | ast.BoolOp):
            yield from ((place.at(branch), path) for branch in _branches(value))
        elif isinstance(value, ast.Await):
            yield place.at(value.value), path
        elif isinstance(value, ast.Name):
            yield from ((given, path) for given in self._given(place, value.id))
        elif not isinstance(value, ast.Constant):
            yield place, ()

    def _given(self, place: Place, name: str) -> Iterator[Place]:
        """Yield the values assigned to a local name or parameter."""
        function = place.function
        if function is None:
            return
        if name in _parameters(function):
            yield from self._callers(place.module, function, name)
            return
        for statement in ast.walk(function):
            for bound, value in _bound(statement):
                if bound == name:
                    yield place.at(value)

    def _table(self, place: Place, path: tuple[int, ...], steps: int) -> Iterator[str | None]:
        """Yield every value of a module's dictionary."""
        given = place.module.names.get(_last(place.value), ())
        tables = [value for value in given if isinstance(value, ast.Dict)]
        for table in tables:
            for value in table.values:
                yield from self._item(Place(place.module, None, value), path, steps)
        if not tables:
            yield None


def _declared(module: Module, node: ast.ClassDef) -> Iterator[Made]:
    """Yield `code = "…"` of a class."""
    for statement in node.body:
        for name, value in _bound(statement):
            if name == "code":
                yield Made(node.name, Place(module, None, value))


def _written(module: Module, node: ast.Dict) -> Iterator[Made]:
    """Yield errors as JSON: a code and a sentence. Entries with a path concern one field."""
    keys = [key.value if isinstance(key, ast.Constant) else None for key in node.keys]
    if "code" in keys and ("error" in keys or ("message" in keys and "path" not in keys)):
        yield Made("dict", module.place(node.values[keys.index("code")]))


def _arguments(call: ast.Call, name: str, positions: set[int]) -> Iterator[ast.expr]:
    named = [keyword.value for keyword in call.keywords if keyword.arg == name]
    if named:
        yield from named
    else:
        yield from (call.args[at] for at in sorted(positions) if at < len(call.args))


def _parameters(function: Function) -> list[str]:
    every = (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
    names = [argument.arg for argument in every]
    return names[1:] if names and names[0] in {"self", "cls"} else names


def _fields(node: Definition) -> list[str]:
    """Return the positional fields."""
    if isinstance(node, Function):
        return _parameters(node)
    return [
        item.target.id
        for item in node.body
        if isinstance(item, ast.AnnAssign)
        and isinstance(item.target, ast.Name)
        and "ClassVar" not in ast.unparse(item.annotation)
    ]


def _annotation(function: Function | None, name: str) -> ast.expr | None:
    """Return the type of a parameter."""
    if function is None:
        return None
    every = (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
    return next((argument.annotation for argument in every if argument.arg == name), None)


def _branches(value: ast.IfExp | ast.BoolOp) -> list[ast.expr]:
    return [value.body, value.orelse] if isinstance(value, ast.IfExp) else value.values


def _returns(function: Function) -> Iterator[ast.expr]:
    for node in ast.walk(function):
        if isinstance(node, ast.Return) and node.value is not None:
            yield node.value


def _bound(statement: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Yield names with assigned values; for an unpacked tuple the matching parts."""
    if isinstance(statement, ast.AnnAssign) and statement.value is not None:
        if isinstance(statement.target, ast.Name):
            yield statement.target.id, statement.value
    elif isinstance(statement, ast.Assign):
        for target in statement.targets:
            yield from _unpacked(target, statement.value)


def _unpacked(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, ast.Tuple):
        for at, part in enumerate(target.elts):
            inner = value.elts[at] if isinstance(value, ast.Tuple) else _part(value, at)
            yield from _unpacked(part, inner)


def _part(value: ast.expr, at: int) -> ast.expr:
    return ast.copy_location(ast.Subscript(value, ast.Constant(at), ast.Load()), value)


def _is_code(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value == "code"


def _last(function: ast.expr) -> str:
    """Return the callee's name without its owner."""
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""
