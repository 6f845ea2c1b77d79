"""The names code finds: builtins as its level has them, and a module of its own.

The guards answer clearly what the reading before could not see, such as `e = eval; e("1")`.
Whoever digs gets around them: that is what the kernel's walls are for.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any

from app.operations.sandbox.jail.python.check import FILENAME
from app.operations.sandbox.jail.python.levels import (
    INTERNAL,
    STANDARD_BUILTINS,
    blocked_builtins,
    may_import,
)


def main_module(level: str, extra: frozenset[str]) -> ModuleType:
    """A fresh `__main__` for code at `level`."""
    module = ModuleType("__main__")
    names = vars(module)
    if level == "lenient":
        _add_exits()
        names["__builtins__"] = builtins
    else:
        names["__builtins__"] = guarded_builtins(level, extra)
    # Dataclasses, named tuples and annotations look the module of a class up.
    sys.modules["__main__"] = module
    return module


def guarded_builtins(level: str, extra: frozenset[str]) -> dict[str, Any]:
    """All builtins, with a guard in the place of each that `level` blocks."""
    names = dict(vars(builtins))
    for name in blocked_builtins(level):
        names[name] = _guard(name, level, vars(builtins).get(name))
    names["__import__"] = _guarded_import(level, extra)
    return names


def _guard(name: str, level: str, real: Callable[..., Any] | None) -> Callable[..., Any]:
    # Code that a library writes into the class at hand, as for a frozen dataclass, uses
    # names such as `type` with the builtins of that class's module.
    for_libraries = None if name in STANDARD_BUILTINS else real

    def guard(*args: Any, **named: Any) -> Any:
        if for_libraries is not None and sys._getframe(1).f_code.co_filename != FILENAME:
            return for_libraries(*args, **named)
        raise NameError(f"{name} is not allowed in '{level}' mode")

    guard.__name__ = guard.__qualname__ = name
    return guard


def _guarded_import(mode: str, extra: frozenset[str]) -> Callable[..., ModuleType]:
    """`__import__` for the code's own imports; modules import with the real one."""
    real = builtins.__import__

    def guard(
        name: str,
        globals: Mapping[str, Any] | None = None,  # noqa: A002 - the names it has
        locals: Mapping[str, Any] | None = None,  # noqa: A002
        fromlist: Sequence[str] = (),
        level: int = 0,
    ) -> ModuleType:
        wanted = [f"{name}.{part}" for part in fromlist or ()] or [name]
        allowed = may_import(mode, name, extra) or all(
            may_import(mode, part, extra) for part in wanted
        )
        if level or not (allowed or name in INTERNAL):
            raise ImportError(f"{name} is not allowed in '{mode}' mode", name=name)
        return real(name, globals, locals, fromlist, level)

    guard.__name__ = guard.__qualname__ = "__import__"
    return guard


def _add_exits() -> None:
    """`exit` and `quit`, which the module `site` adds where it runs."""
    if not hasattr(builtins, "exit"):
        from _sitebuiltins import Quitter

        for name in ("exit", "quit"):
            setattr(builtins, name, Quitter(name, "Ctrl-D (i.e. EOF)"))
