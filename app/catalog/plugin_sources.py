"""Where plugins are: installed packages, and the files of a folder."""

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
"""Name, time of change and size of each file of a plugin."""


@dataclass(frozen=True, slots=True)
class PluginSource:
    """One plugin: `load` imports it and gives what its author exposes.

    Attributes:
        discard: takes what `load` has imported out of `sys.modules`.
        file: where a plugin of the folder starts; None for an installed one.
    """

    name: str
    where: str
    load: Callable[[], Any]
    discard: Callable[[], None]
    file: Path | None = None
    brings: Source = "plugin"
    stamp: Stamp = ()

    def should_bring_hooks(self) -> bool:
        """Whether a file that could not be loaded speaks of `HOOKS`, or cannot even be read."""
        if self.file is None:
            return False
        try:
            return bool(_HOOKS.search(self.file.read_text(encoding="utf-8", errors="replace")))
        except OSError:
            return True


def installed_plugins() -> Iterator[PluginSource]:
    """What installed packages name under `ENTRY_POINT_GROUP`."""
    for point in sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda point: point.name):
        where = f"entry point {point.value}"
        yield PluginSource(point.name, where, point.load, lambda: None, brings="external")


def plugins_in(folder: Path) -> list[PluginSource]:
    """The plugins of a folder, by name; a missing folder holds none.

    Raises:
        ConfigurationError: the folder is there but cannot be listed.
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
        # loading it fails too, and that puts it on the list of problems
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
    """A private name: two plugins of one name, or one named like a library, do not meet.

    Each reading of a file has its own, so that calls which run meanwhile stay with their code.
    """
    digest = hashlib.sha256(str(path.absolute()).encode("utf-8", "replace")).hexdigest()[:8]
    number = next(_numbers)
    return f"_tollgate_plugin_{digest}_{number}_" + re.sub(r"\W", "_", clean(path.stem))


class _FromSource(SourceFileLoader):
    """Compiles the file: bytecode of a second ago counts as new when the size is the same."""

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
    # dataclasses and relative imports look their module up by name
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _forget(name: str) -> None:
    for loaded in [key for key in sys.modules if key == name or key.startswith(f"{name}.")]:
        del sys.modules[loaded]
