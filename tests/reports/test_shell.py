"""Commands behind the real walls: what they print, and what they find around them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.core.clock import SystemClock
from app.core.redaction import Redactor
from app.execution.background.processes import Processes
from app.execution.background.states import SessionShells
from app.operations.sandbox.sandbox import Sandbox
from app.operations.sandbox.workspace import SandboxedWorkspace
from app.toolkit.context import ToolContext
from app.toolkit.ports import ARTIFACTS
from app.toolkit.services import Services
from app.toolkit.tool import Tool
from app.tools.code.execute_python import execute_python
from app.tools.shell.bash import bash
from app.tools.shell.ports import SESSION_PROCESSES, SHELL_STATES
from app.tools.shell.process import process
from tests.reports.samples import Row, samples
from tests.tools.calls import call
from tests.tools.code.conftest import Shelf

TOOLS: dict[str, Tool] = {tool.name: tool for tool in (bash, execute_python, process)}


@pytest.fixture
async def sandbox() -> AsyncIterator[Sandbox]:
    async with Sandbox() as opened:
        yield opened


@pytest.fixture
async def ctx(tmp_path: Path, sandbox: Sandbox) -> AsyncIterator[ToolContext]:
    """A call of a session in a workspace of its own."""
    keeper = Processes(tmp_path / "processes", Redactor([]), SystemClock())
    services = Services(**{ARTIFACTS: Shelf()})
    services.register(SESSION_PROCESSES, keeper)
    services.register(SHELL_STATES, SessionShells())
    root = tmp_path / "ws"
    root.mkdir()
    async with SandboxedWorkspace(root, sandbox=sandbox) as workspace:
        yield ToolContext(
            tool_call_id="call_1",
            operation_id="call_1",
            session_id="ses_1",
            project_id="project_1",
            services=services,
            bound_operations=workspace.operations,
        )
    await keeper.close()


async def shown(ctx: ToolContext, row: Row) -> str:
    """Everything that the result of a row's call shows; the call succeeds as the row says."""
    root = Path(ctx.operations.root)
    (root / row["file"]).write_bytes(bytes.fromhex(row["before"]))
    result = await call(TOOLS[row["tool"]], ctx, **row["args"])
    assert result.success is row["right"]["success"], result.text
    return "\n".join([result.text or "", json.dumps(result.data, ensure_ascii=False)])


@pytest.mark.parametrize("row", samples("shell_progress_frames"))
async def test_of_a_line_that_is_drawn_again_the_last_frame_is_shown(ctx: ToolContext, row: Row):
    found = await shown(ctx, row)
    assert row["right"]["contains"] in found
    if row["right"]["not_contains"]:
        assert row["right"]["not_contains"] not in found
