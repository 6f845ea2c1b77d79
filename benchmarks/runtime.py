"""Gate with a separate database in a temporary folder, and a context for calls."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

from app.bootstrap.container import Runtime
from app.bootstrap.runtime import open_runtime
from app.catalog.registry import ToolRegistry
from app.config.settings import Settings, load_settings
from app.core.ids import new_id
from app.db.schema import ensure_schema
from app.execution.calls import CallRequest
from app.execution.context import CallContext
from app.operations.local.workspace import LocalWorkspaces
from app.toolkit.tool import Tool

PROJECT = "bench"


def bench_settings(folder: Path, **changes: object) -> Settings:
    """Default settings, ignoring `.env` says, with all data in `folder`."""
    return load_settings(_env_file=None, data_dir=folder, port=0, allow_anonymous=True, **changes)


@asynccontextmanager
async def bench_runtime(
    tools: Iterable[Tool], workspace: Path | None = None
) -> AsyncIterator[Runtime]:
    """Open the whole gate with `tools` in its catalog; `workspace` becomes the project `bench`."""
    with tempfile.TemporaryDirectory(prefix="tollgate-bench-") as name:
        settings = bench_settings(Path(name))
        await asyncio.to_thread(ensure_schema, settings.database_path)
        registry = ToolRegistry()
        for tool in tools:
            registry.register(tool)
        async with open_runtime(settings, registry, LocalWorkspaces()) as runtime:
            if workspace is not None:
                runtime.projects.mount(PROJECT, workspace)
            yield runtime


def context(runtime: Runtime, *, project: bool = False) -> CallContext:
    """Return the context of an agent's calls in a new session."""
    return CallContext(
        log=runtime.events.open(new_id("ses"), new_id("ep"), 0),
        run_id=new_id("run"),
        project=runtime.projects.get(PROJECT) if project else None,
        cacheable=False,
    )


async def must_succeed(runtime: Runtime, requests: list[CallRequest], context: CallContext) -> None:
    """Run one batch; failures would look fast.

    Raises:
        RuntimeError: a call failed.
    """
    for outcome in await runtime.executor.run(requests, context):
        if outcome.status != "success":
            raise RuntimeError(f"{outcome.tool_name} ended as {outcome.status}: {outcome.text}")
