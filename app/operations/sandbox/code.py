"""Python in the sandbox: in a warm worker or a separate process."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path

from app.operations.local.failures import failure
from app.operations.local.threads import PROCESSES, run_in, to_end
from app.operations.process_errors import sandbox_unavailable
from app.operations.protocols.code import CodeExit, CodeSpec, ProducedFile, RunningCode
from app.operations.protocols.processes import ProcessChunk
from app.operations.sandbox.change_watch import ChangeWatch, WatchedProgramFiles
from app.operations.sandbox.jail.job import Work
from app.operations.sandbox.policies import lenient_policy, module_folders, pure_policy
from app.operations.sandbox.produced_files import read_produced
from app.operations.sandbox.sandbox import Sandbox
from app.operations.sandbox.workers import SCRATCH, WORK, Worker, python_job, start_worker

_NO_FILES: tuple[tuple[ProducedFile, ...], int] = ((), 0)


class SandboxedCode:
    """`CodeOperations` in `sandbox`.

    Args:
        folders: real paths that lenient code may read and write: the workspace's root, or some of
            its folders.
        narrowed: the root, if `folders` are some of its folders.
        watched: the files in `folders` that other programs run.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        folders: tuple[str, ...] = (),
        narrowed: str | None = None,
        watched: WatchedProgramFiles | None = None,
    ) -> None:
        self._sandbox = sandbox
        self._watched = watched
        self._folders = folders
        self._narrowed = narrowed

    def open(self, spec: CodeSpec) -> AbstractAsyncContextManager[RunningCode]:
        return self._open(spec)

    @asynccontextmanager
    async def _open(self, spec: CodeSpec) -> AsyncIterator[RunningCode]:
        async with AsyncExitStack() as stack:
            folder = None
            if spec.level == "lenient":
                folder = await stack.enter_async_context(self._sandbox.folder())
                watch = None if self._watched is None else ChangeWatch(self._watched)
                read_only: tuple[str, ...] = ()
                if watch is not None:
                    read_only = await watch.begin()
                    stack.push_async_callback(watch.settle)
                worker = await self._start_lenient(spec, folder, read_only)
                worker.process.watch = watch
            else:
                worker = await self._start_pure(spec)
            stack.push_async_callback(worker.close)
            yield _RunningCode(worker, folder)

    async def _start_pure(self, spec: CodeSpec) -> Worker:
        sandbox = self._sandbox
        status = await sandbox.level(spec.level)
        paths = module_folders() if spec.modules else ()
        work = Work(spec.code, spec.modules, paths)
        if not spec.modules:
            worker = await sandbox.warm_worker(spec.level, spec.wall_s)
            if worker is not None:
                worker.give(work)
                return worker
        extra = bool(spec.modules)
        policy = pure_policy(sandbox.config, status, spec.level, spec.wall_s, extra=extra)
        return await start_worker(sandbox.zygote, python_job(policy, work))

    async def _start_lenient(
        self, spec: CodeSpec, folder: str, read_only: tuple[str, ...]
    ) -> Worker:
        sandbox = self._sandbox
        status = await sandbox.level("lenient")
        if status.asks:
            # A rule may approve lenient code, but not a missing capability of the sandbox.
            raise sandbox_unavailable(
                f"Level lenient cannot run with a weaker sandbox. {status.sentence}"
            )
        await to_end(run_in(PROCESSES, _furnish, folder, sandbox.config.uid))
        writable = (*self._folders, folder)
        policy = lenient_policy(
            *(sandbox.config, status, spec.wall_s, writable),
            narrowed=self._narrowed,
            read_only=read_only,
            temporary=f"{folder}/{SCRATCH}",
        )
        work = Work(spec.code, spec.modules, module_folders())
        return await start_worker(sandbox.zygote, python_job(policy, work, folder))


class _RunningCode:
    """`RunningCode` of a worker; lenient code may leave files in `folder`."""

    def __init__(self, worker: Worker, folder: str | None) -> None:
        self._worker = worker
        self._folder = folder
        self._ended: CodeExit | None = None

    def output(self) -> AsyncIterator[ProcessChunk]:
        return self._worker.process.output()

    async def wait(self) -> CodeExit:
        ended = await self._worker.process.wait()
        if self._ended is None:
            report = self._worker.report.finish()
            produced = await self._produced()
            self._ended = CodeExit(ended, report.value, report.error, *produced)
        return self._ended

    async def _produced(self) -> tuple[tuple[ProducedFile, ...], int]:
        if self._folder is None:
            return _NO_FILES
        return await to_end(run_in(PROCESSES, read_produced, f"{self._folder}/{WORK}"))


def _furnish(folder: str, uid: int | None) -> None:
    """Create the folders that a job of `python_job` expects.

    Raises:
        ToolFailed, StorageUnavailable: they cannot be created.
    """
    try:
        for name in (WORK, SCRATCH):
            path = Path(folder) / name
            path.mkdir(mode=0o700)
            if uid is not None:
                os.chown(path, uid, uid)
    except OSError as error:
        raise failure(error, "private temporary folder") from None
