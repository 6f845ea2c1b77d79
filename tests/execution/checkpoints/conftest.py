from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from app.execution.calls import CallRequest
from app.execution.checkpoints.undo import Restored
from app.execution.outcome import CallOutcome
from tests.execution.lab import Lab


@dataclass
class Workshop:
    """A session whose calls belong to runs, and the folder that it works in."""

    lab: Lab
    root: Path
    is_active: bool = False

    async def call(self, run_id: str, tool: str, **arguments: Any) -> CallOutcome:
        request = CallRequest(f"c{len(self.lab.watcher.events)}", tool, arguments)
        return (await self.lab.run(request, run_id=run_id))[0]

    async def done(self, run_id: str, tool: str, **arguments: Any) -> CallOutcome:
        """A call that must succeed."""
        outcome = await self.call(run_id, tool, **arguments)
        assert outcome.result.error is None
        return outcome

    async def restore(self, run_id: str, **options: Any) -> Restored:
        return await self.lab.runtime.undo.restore(
            self.lab.session.id,
            run_id,
            actor="ann",
            is_active=lambda: self.is_active,
            **options,
        )

    def files(self) -> dict[str, str]:
        """Every file by its path."""
        return {
            str(path.relative_to(self.root)): path.read_text()
            for path in sorted(self.root.rglob("*"))
            if path.is_file()
        }

    def put(self, path: str, text: str) -> None:
        """Write as somebody else would."""
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)


@pytest.fixture
def shop(house: Lab) -> Workshop:
    return Workshop(house, Path(house.context["project"].root))
