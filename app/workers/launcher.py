"""Start of worker processes in the sandbox: they can read one workspace, and nothing else."""

from __future__ import annotations

import os
import sys
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import app
from app.agents.delegation.ports import WorkerScope
from app.config.sections import SubAgentSettings
from app.core.errors import ConfigurationError, ToolFailed
from app.operations.local.beneath import Beneath
from app.operations.local.threads import PROCESSES, run_in, to_end
from app.operations.process_errors import sandbox_unavailable
from app.operations.protocols.processes import ProcessLimits, ProcessSpec
from app.operations.sandbox.sandbox import Sandbox
from app.operations.sandbox.scratch import ScratchSandbox
from app.workers.worker import ConfinedWorker
from app.workers.worker_setup import WorkerSetup

_PACKAGE = str(Path(app.__file__).resolve().parent)
# The folder above the package is unreadable, so the package is not searched there.
PROGRAM = (
    "import importlib.util as u, sys;"
    f"s = u.spec_from_file_location('app', {_PACKAGE + '/__init__.py'!r},"
    f" submodule_search_locations=[{_PACKAGE!r}]);"
    "sys.modules['app'] = m = u.module_from_spec(s); s.loader.exec_module(m);"
    "from app.workers.process import main; main()"
)
"""Python code that a worker runs."""

_LIMITS = ProcessLimits(
    cpu_s=3600, file_bytes=16 << 20, disk_bytes=64 << 20, output_bytes=512 << 20
)
"""Limits for a worker's whole life; its memory is a setting."""


@dataclass(frozen=True, slots=True)
class WorkerFolder:
    """Readable folder of a worker, as it was at its start."""

    path: str
    device: int
    inode: int


class SandboxedWorkers:
    """Starts workers in `sandbox`; each has a separate empty folder and no network.

    Args:
        calculator_functions: whether `calculator` may call functions.
        program: program of the workers, which the sandbox does not trust.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        settings: SubAgentSettings,
        *,
        calculator_functions: bool = False,
        program: str = PROGRAM,
    ) -> None:
        self._program = program
        self._sandbox = sandbox
        self._rooms = ScratchSandbox(sandbox)
        self._memory_bytes = settings.memory_mb << 20
        self._calculator_functions = calculator_functions

    async def folders(self, place: WorkerScope) -> tuple[WorkerFolder, ...]:
        """Return the folders that a worker of `place` may read; they change if a folder is
        replaced.

        Raises:
            ToolFailed: code `workspace_missing`, or an error of the workspace about a folder.
        """
        hidden = self._sandbox.config.hidden
        return await to_end(run_in(PROCESSES, _folders, place, hidden))

    async def start(self, place: WorkerScope, folders: tuple[WorkerFolder, ...]) -> ConfinedWorker:
        """Return a worker that is ready.

        Raises:
            ToolFailed: code `sandbox_unavailable` or `worker_lost`.
        """
        status = await self._sandbox.level("bash")
        if status.asks:
            # A person may approve a weaker sandbox for a command, but a worker never asks.
            raise sandbox_unavailable(
                f"Sub-agents cannot run with a weaker sandbox. {status.sentence}"
            )
        async with AsyncExitStack() as stack:
            sandbox = await stack.enter_async_context(self._rooms.open())
            spec = self._spec(place, folders)
            process = await stack.enter_async_context(sandbox.processes.open(spec))
            worker = ConfinedWorker(process, stack.pop_all().aclose)
        try:
            await worker.ready()
        except BaseException:
            await worker.close()
            raise
        return worker

    def _spec(self, place: WorkerScope, folders: tuple[WorkerFolder, ...]) -> ProcessSpec:
        setup = WorkerSetup(place.roots, self._calculator_functions)
        flags = ("-I", "-B", "-X", "utf8")
        return ProcessSpec(
            argv=(sys.executable, *flags, "-c", self._program, setup.encode()),
            limits=replace(_LIMITS, memory_bytes=self._memory_bytes),
            interactive=True,
            network=False,
            readable=(_PACKAGE, *(folder.path for folder in folders)),
        )


def _folders(place: WorkerScope, hidden: tuple[str, ...]) -> tuple[WorkerFolder, ...]:
    if place.root is None:
        return ()
    try:
        beneath = Beneath(Path(place.root), hidden=hidden, roots=place.roots)
    except ConfigurationError as error:
        raise ToolFailed(error.message, code="workspace_missing") from None
    try:
        return tuple(_folder(beneath, path) for path in place.roots or (".",))
    finally:
        beneath.close()


def _folder(beneath: Beneath, path: str) -> WorkerFolder:
    with beneath.opened(path, os.O_PATH | os.O_DIRECTORY) as descriptor:
        status = os.fstat(descriptor)
        real = str(Path(f"/proc/self/fd/{descriptor}").readlink())
    return WorkerFolder(real, status.st_dev, status.st_ino)
