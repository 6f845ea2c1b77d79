"""Calls of the planning tools, by whom a test names."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from app.core.clock import ManualClock
from app.execution.calls import CallRequest
from app.execution.outcome import CallOutcome
from tests.execution.lab import Lab, open_lab, settings_for
from tests.support.database import new_database

Call = Callable[..., Awaitable[CallOutcome]]


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("template") / "tollgate.db"
    new_database(path)
    return path


@pytest.fixture
async def lab(tmp_path: Path, template: Path) -> AsyncIterator[Lab]:
    """A gate whose clock stands at the beginning of 2026."""
    async with open_lab(settings_for(tmp_path / "data", template), clock=ManualClock()) as opened:
        yield opened


@pytest.fixture
def call(lab: Lab) -> Call:
    """`call(name, arguments, user_id=…, session=…)` → its outcome."""

    async def run(name: str, arguments: dict[str, Any], **changes: Any) -> CallOutcome:
        return (await lab.run(CallRequest("c1", name, arguments), **changes))[0]

    return run
