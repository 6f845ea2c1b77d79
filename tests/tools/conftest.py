"""A call's context on an in-memory workspace."""

from __future__ import annotations

import pytest

from app.operations.fakes.workspace import fake_workspace
from app.operations.protocols.operations import Operations
from app.toolkit.context import ToolContext


@pytest.fixture
def operations() -> Operations:
    return fake_workspace()


@pytest.fixture
def ctx(operations: Operations) -> ToolContext:
    return ToolContext(
        tool_call_id="call_1",
        operation_id="call_1",
        project_id="project_1",
        bound_operations=operations,
    )
