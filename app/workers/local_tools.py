"""Tools that a worker runs itself, with their services."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from app.core.clock import SystemClock
from app.core.errors import ToolFailed
from app.operations.local.beneath import Beneath
from app.operations.local.files import LocalFiles
from app.operations.local.queue import WriteQueue
from app.operations.local.search import LocalSearch
from app.operations.protocols.code import CodeSpec, RunningCode
from app.operations.protocols.operations import Operations
from app.operations.protocols.processes import ProcessSpec, RunningProcess
from app.toolkit.ports import NOT_HERE
from app.toolkit.services import Services
from app.toolkit.tool import Tool
from app.tools.data.services import CALCULATOR_RULES, CLOCK, CalculatorRules
from app.workers.worker_setup import WorkerSetup

T = TypeVar("T")

TOOLSETS = (
    "app.tools.files.toolset",
    "app.tools.search.toolset",
    "app.tools.data.toolset",
)
"""Modules of tools with the route `worker-local`; others are not imported here."""


class LocalServices(Services):
    """The few services that do not need the service process; others are not available here."""

    def get(self, name: str) -> Any | None:
        """See `Services.get`.

        Raises:
            ToolFailed: code `not_here`.
        """
        service = super().get(name)
        if service is None:
            raise not_here(name)
        return service

    def require(self, name: str, kind: type[T]) -> T:
        """See `Services.require`.

        Raises:
            ToolFailed: code `not_here`.
        """
        self.get(name)
        return super().require(name, kind)


class CodeElsewhere:
    """`CodeOperations` that refuses: the service runs Python in a separate sandbox."""

    def open(self, spec: CodeSpec) -> AbstractAsyncContextManager[RunningCode]:
        raise not_here(f"Python ({spec.level})")


class ProcessesElsewhere:
    """`ProcessOperations` that refuses: the service starts programs, and can end them."""

    def open(self, spec: ProcessSpec) -> AbstractAsyncContextManager[RunningProcess]:
        raise not_here(f"program {spec.argv[0]!r}")


def not_here(what: str) -> ToolFailed:
    """Tell the service to run the call itself."""
    return ToolFailed(
        f"A worker process has no {what}: the call runs in the service", code=NOT_HERE
    )


def local_tools() -> Mapping[str, Tool]:
    """Return the tools that run in workers, by name."""
    found = (tool for module in TOOLSETS for tool in import_module(module).TOOLS)
    return {tool.name: tool for tool in found if tool.route == "worker-local"}


def local_services(setup: WorkerSetup) -> Services:
    rules = CalculatorRules(setup.calculator_functions)
    return LocalServices(**{CLOCK: SystemClock(), CALCULATOR_RULES: rules})


def local_operations(root: str, setup: WorkerSetup) -> Operations:
    """Return the workspace, as far as this process's sandbox allows reading it.

    Raises:
        ConfigurationError: the folder does not exist.
    """
    beneath = Beneath(Path(root), roots=setup.roots)
    return Operations(
        root=beneath.root,
        roots=beneath.roots,
        files=LocalFiles(beneath, WriteQueue()),
        search=LocalSearch(beneath),
        processes=ProcessesElsewhere(),
        code=CodeElsewhere(),
    )
