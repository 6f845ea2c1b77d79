"""An approval that is given after a restart holds for what was shown before it."""

from __future__ import annotations

import pytest

from app.bootstrap.service import open_service
from app.config.settings import Settings
from tests.agents.suspended import answer, killed, run_is_over, watched

DELETES = ("c1", "bash", {"command": "rm -rf out"})


@pytest.mark.parametrize("added", [False, True])
async def test_a_deletion_is_bound_over_a_restart(settings: Settings, *, added: bool) -> None:
    folder = settings.workspace_dir / "out"
    folder.mkdir(parents=True)
    (folder / "seen.txt").write_text("seen", encoding="utf-8")
    left = await killed(settings, DELETES)
    if added:
        (folder / "new.txt").write_text("not seen", encoding="utf-8")
    async with open_service(settings) as service:
        watcher = await watched(service, left.session_id)
        assert await answer(service, left.session_id) == "approved"
        if added:
            again = await watcher.until("tool_confirmation_request")
            assert again["asked_again"] == "Its targets have changed: 3 instead of 2"
            assert (folder / "seen.txt").exists()
            assert await answer(service, left.session_id) == "approved"
        await run_is_over(service, left.session_id)

    assert not folder.exists()
    assert len(watcher.of("tool_confirmation_request")) == added
