"""Python names at each level: allowed modules, blocked builtins.

These lists are policy with clear messages; the kernel confines the code.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Iterable

LEVELS = ("lenient", "standard", "strict")
SECONDS = {"lenient": 30, "standard": 10, "strict": 5}
"""Default time limits of each level."""

STRICT_MODULES: tuple[str, ...] = (
    *("collections", "itertools", "functools", "operator", "array", "copy", "enum"),
    *("math", "cmath", "numbers", "fractions", "decimal", "random", "statistics"),
    *("string", "textwrap", "unicodedata", "typing", "dataclasses", "abc", "contextlib"),
)
STANDARD_MODULES: tuple[str, ...] = (
    *("json", "csv", "re", "typing", "collections", "itertools", "functools", "operator"),
    *("heapq", "bisect", "array", "copy", "pprint", "enum", "math", "cmath", "statistics"),
    *("random", "fractions", "decimal", "numbers", "datetime", "time", "calendar", "string"),
    *("textwrap", "unicodedata", "difflib", "base64", "binascii", "quopri", "uu", "html"),
    *("xml.etree.ElementTree", "dataclasses", "hashlib", "hmac", "abc", "contextlib"),
    *("warnings", "logging"),
)
STANDARD_BUILTINS: tuple[str, ...] = (
    *("eval", "exec", "compile", "__import__", "open", "input", "globals", "locals", "vars"),
    *("breakpoint", "exit", "quit", "memoryview", "bytearray"),
)
STRICT_BUILTINS: tuple[str, ...] = (
    *STANDARD_BUILTINS,
    *("dir", "hasattr", "getattr", "setattr", "delattr", "type", "isinstance", "issubclass"),
)
INTERNAL: frozenset[str] = frozenset(
    {"_io", "_strptime", "_warnings", "copyreg", "encodings", "io", "linecache", "locale", "re"}
    | {"time", "traceback", "unicodedata", "warnings"}
)
"""Modules that C code imports by itself, through its caller's builtins."""

_MODULES = {"standard": STANDARD_MODULES, "strict": STRICT_MODULES}
_BUILTINS = {"standard": STANDARD_BUILTINS, "strict": STRICT_BUILTINS}
_REMOVED = {"uu": (3, 13)}
# Compiler directive, whose import has no effect.
_DIRECTIVE = "__future__"


def blocked_builtins(level: str) -> tuple[str, ...]:
    """Return the builtins that code at `level` must not use; empty for lenient."""
    return _BUILTINS.get(level, ())


def may_import(level: str, module: str, extra: Iterable[str] = ()) -> bool:
    """Return whether code at `level` may import `module`, a dotted name.

    A listed module includes its submodules: `collections` covers `collections.abc`.
    """
    if level not in _MODULES or module == _DIRECTIVE:
        return True
    allowed = {*_MODULES[level], *extra}
    parts = module.split(".")
    return any(".".join(parts[:length]) in allowed for length in range(1, len(parts) + 1))


def absent(module: str) -> str | None:
    """Return why a listed module is not available in this Python, or None."""
    since = _REMOVED.get(module.partition(".")[0])
    if since is None or sys.version_info < since:
        return None
    running = f"{sys.version_info.major}.{sys.version_info.minor}"
    return (
        f"{module} is not in this Python: it was removed in {since[0]}.{since[1]}, "
        f"this is {running}"
    )


def is_builtin(name: str) -> bool:
    """Return whether Python itself defines `name`, including `exit` and `quit`."""
    return hasattr(builtins, name) or name in ("exit", "quit")
