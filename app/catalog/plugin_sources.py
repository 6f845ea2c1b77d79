"""Sources of plugins: installed packages, and the files of a folder."""

from __future__ import annotations

import hashlib
import importlib.util
import itertools
import os
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.machinery import SourceFileLoader
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from app.catalog.errors import InvalidTool
from app.core.errors import ConfigurationError
from app.core.text import clean
from app.toolkit.tool import Source

ENTRY_POINT_GROUP = "tollgate.tools"
_HOOKS = re.compile(r"\bHOOKS\b")
_MOST_FILES = 10_000
_numbers = itertools.count(1)

Stamp = tuple[tuple[str, int, int], ...]
"""Name, modification time and size of each file of a plugin."""


@dataclass(frozen=True, slots=True)
class PluginSource:
    """Plugin source: `load` imports it and returns what its author exposes.

    Attributes:
        discard: removes modules imported by `load` from `sys.modules`.
        file: main file of a plugin in the folder; None for an installed one.
    """

    name: str
    where: str
    load: Callable[[], Any]
    discard: Callable[[], None]
    file: Path | None = None
    brings: Source = "plugin"
    stamp: Stamp = ()

    def should_bring_hooks(self) -> bool:
        """Return whether a file that failed to load mentions `HOOKS`, or cannot be read."""
        if self.file is None:
            return False
        try:
            return bool(_HOOKS.search(self.file.read_text(encoding="utf-8", errors="replace")))
        except OSError:
            return True


def installed_plugins() -> Iterator[PluginSource]:
    """Return the entry points of installed packages under `ENTRY_POINT_GROUP`."""
    for point in sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda point: point.name):
        where = f"entry point {point.value}"
        yield PluginSource(point.name, where, point.load, lambda: None, brings="external")


def plugins_in(folder: Path) -> list[PluginSource]:
    """Return the plugins of a folder, by name; empty if the folder is missing.

    Raises:
        ConfigurationError: the folder exists but cannot be listed.
    """
    try:
        paths = sorted(folder.iterdir())
    except FileNotFoundError:
        return []
    except OSError as error:
        raise ConfigurationError(
            f"cannot read plugin_dir {str(folder)!r}: {error.strerror}"
        ) from error
    return [_file_source(path) for path in paths if _is_plugin(path)]


def _is_plugin(path: Path) -> bool:
    if path.name.startswith(("_", ".")):
        return False
    try:
        return path.suffix == ".py" if path.is_file() else (path / "__init__.py").is_file()
    except PermissionError:
        # loading it fails too, which adds it to the problems
        return True


def _file_source(path: Path) -> PluginSource:
    module = _module_name(path)
    return PluginSource(
        name=clean(path.stem),
        where=clean(str(path)),
        load=lambda: _import_file(module, path),
        discard=lambda: _forget(module),
        file=path / "__init__.py" if path.is_dir() else path,
        stamp=tuple(itertools.islice(_stamp(path), _MOST_FILES)),
    )


def _stamp(path: Path) -> Iterator[tuple[str, int, int]]:
    for place in [path] if path.is_file() else _files_below(path):
        try:
            found = place.stat()
        except OSError:
            yield str(place), 0, -1
        else:
            yield str(place), found.st_mtime_ns, found.st_size


def _files_below(path: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(path):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        yield from (Path(folder, name) for name in sorted(names))


def _module_name(path: Path) -> str:
    """Return a private module name, so that plugins do not collide with each other or with
    libraries.

    Each load has a different name, so that active calls keep their code.
    """
    digest = hashlib.sha256(str(path.absolute()).encode("utf-8", "replace")).hexdigest()[:8]
    number = next(_numbers)
    return f"_tollgate_plugin_{digest}_{number}_" + re.sub(r"\W", "_", clean(path.stem))


class _FromSource(SourceFileLoader):
    """Always compiles the file: bytecode one second old counts as current if the size is equal."""

    def path_stats(self, path: str) -> Any:
        raise OSError


def _import_file(name: str, path: Path) -> ModuleType:
    is_package = path.is_dir()
    file = str(path / "__init__.py" if is_package else path)
    spec = importlib.util.spec_from_file_location(
        name,
        file,
        loader=_FromSource(name, file),
        submodule_search_locations=[str(path)] if is_package else None,
    )
    if spec is None or spec.loader is None:
        raise InvalidTool(f"{path.name!r} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    # dataclasses and relative imports look up their module by name
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _forget(name: str) -> None:
    for loaded in [key for key in sys.modules if key == name or key.startswith(f"{name}.")]:
        del sys.modules[loaded]
