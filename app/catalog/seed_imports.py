"""Import paths of the original designs, for plugins written for them.

    from backend.tools.factory import tool

finds the same objects as `app.catalog.seed_api`. An installed package `backend` takes precedence,
and nothing is imported before one of the names is used.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import MappingProxyType, ModuleType

_SEED_API, _ADAPTERS = "app.catalog.seed_api", "app.catalog.adapters"
_FACTORY = {"tool": _SEED_API, "register": _SEED_API}
_CORE = {"ToolDefinition": _ADAPTERS, "ToolResult": _SEED_API, "registry": _SEED_API}
_LOCATOR = {"register_service": _SEED_API, "get_service": _SEED_API}
_SERVICES = dict.fromkeys(
    ("SearchService", "FetchService", "ContentExtractor", "CalculatorService"), _SEED_API
)

SEED_MODULES: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "backend": {},
        "backend.tools": {**_FACTORY, **_CORE, **_LOCATOR},
        "backend.tools.factory": _FACTORY,
        "backend.tools.core": _CORE,
        "backend.tools.services": _SERVICES,
    }
)
"""Original module → its names → the module that has them."""


class SeedImports(MetaPathFinder, Loader):
    """Finds the modules of `SEED_MODULES` if nothing else does."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in SEED_MODULES:
            return None
        return ModuleSpec(fullname, self, is_package=fullname in ("backend", "backend.tools"))

    def exec_module(self, module: ModuleType) -> None:
        for name, where in SEED_MODULES[module.__name__].items():
            source = sys.modules.get(where) or __import__(where, fromlist=[name])
            setattr(module, name, getattr(source, name))


def offer_seed_imports() -> None:
    """Enable the original import paths for plugins; once per process."""
    if not any(isinstance(finder, SeedImports) for finder in sys.meta_path):
        sys.meta_path.append(SeedImports())
