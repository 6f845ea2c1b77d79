"""Additional modules that code may import, from the operator and plugins."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import get_args

from app.config.sections import CodeExecutionSettings
from app.core.errors import ConfigurationError
from app.operations.protocols.code import Strictness

LEVELS: tuple[str, ...] = get_args(Strictness)
_MODULE = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*", re.ASCII)
_MAX_MODULES = 1_000


class ExtraModules:
    """Extra modules by level; thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._modules: Mapping[str, frozenset[str]] = {}

    def register(self, level: str, modules: Iterable[str]) -> None:
        """Allow code at `level` to import `modules` and their submodules.

        No effect for lenient, which allows every module.

        Raises:
            ValueError: the level does not exist, a name is not a module name, or there are too
                many.
            TypeError: `modules` is a string.
        """
        if level not in LEVELS:
            raise ValueError(f"level {level!r} must be one of {', '.join(LEVELS)}")
        names = _names(modules)
        if level == "lenient":
            return
        with self._lock:
            known = self._modules.get(level, frozenset()) | names
            if len(known) > _MAX_MODULES:
                raise ValueError(f"more than {_MAX_MODULES} extra modules for {level!r}")
            # Replaced, not modified: concurrent readers have a complete set.
            self._modules = {**self._modules, level: known}

    def of(self, level: str) -> frozenset[str]:
        """Return the additional modules of code at `level`."""
        return self._modules.get(level, frozenset())


REGISTERED = ExtraModules()
"""Modules added by code of this process, mainly plugins."""


def register_extra_modules(level: str, modules: Iterable[str]) -> None:
    """Allow code at `level` to import further modules from now on, in this process.

        register_extra_modules("standard", {"numpy", "pandas"})

    Raises:
        ValueError, TypeError: see `ExtraModules.register`.
    """
    REGISTERED.register(level, modules)


@dataclass(frozen=True, slots=True)
class CodeRules:
    """Rules for running code in this installation.

    Attributes:
        default: default level of calls.
        configured: extra modules from the settings, in addition to those registered by code.
    """

    default: Strictness = "standard"
    configured: ExtraModules = field(default_factory=ExtraModules)
    registered: ExtraModules = REGISTERED

    @classmethod
    def of(cls, settings: CodeExecutionSettings) -> CodeRules:
        """Return the rules from the settings.

        Raises:
            ConfigurationError: `extra_allowed_modules` contains an invalid module name.
        """
        configured = ExtraModules()
        for level, modules in settings.extra_allowed_modules.items():
            try:
                configured.register(level, modules)
            except ValueError as error:
                raise ConfigurationError(
                    f"code_execution.extra_allowed_modules.{level}: {error}"
                ) from None
        return cls(settings.default_strictness, configured)

    def extra_modules(self, level: str) -> frozenset[str]:
        """Return the modules in addition to the level's own list."""
        return self.configured.of(level) | self.registered.of(level)


def _names(modules: Iterable[str]) -> frozenset[str]:
    if isinstance(modules, str):
        raise TypeError(f"modules must be a set or list of names, not the text {modules!r}")
    names = frozenset(modules)
    for name in names:
        if not isinstance(name, str) or len(name) > 200 or not _MODULE.fullmatch(name):
            raise ValueError(f"{name!r} is not a valid module name")
    return names
