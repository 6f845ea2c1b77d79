"""A call's context with the processes of its session, in memory and on real ones."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.core.clock import SystemClock
from app.core.redaction import Redactor
from app.domain.processes import SESSION_PROCESSES, SHELL_STATES
from app.execution.background.processes import Processes
from app.execution.background.states import SessionShells
from app.operations.local.workspace import LocalWorkspace
from app.operations.protocols.operations import Operations
from app.toolkit.context import ToolContext
from app.toolkit.services import Services

SECRET = "sk-own-0123456789abcdef"


@pytest.fixture
async def processes(tmp_path: Path) -> AsyncIterator[Processes]:
    processes = Processes(tmp_path / "processes", Redactor([SECRET]), SystemClock())
    yield processes
    await processes.close()


@pytest.fixture
def ctx(operations: Operations, processes: Processes) -> ToolContext:
    services = Services()
    services.register(SESSION_PROCESSES, processes)
    services.register(SHELL_STATES, SessionShells())
    return ToolContext(
        tool_call_id="call_1",
        operation_id="call_1",
        session_id="ses_1",
        project_id="project_1",
        services=services,
        bound_operations=operations,
    )


@pytest.fixture
async def local(ctx: ToolContext, tmp_path: Path) -> AsyncIterator[ToolContext]:
    """The same on a real folder."""
    root = tmp_path / "ws"
    root.mkdir()
    with LocalWorkspace(root) as workspace:
        yield replace(ctx, bound_operations=workspace.operations)
