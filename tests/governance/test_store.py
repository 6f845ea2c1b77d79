"""The catalog in the database, and what an operator chose."""

from __future__ import annotations

from typing import Any

import pytest

from app.core.errors import ToolNotFound
from app.core.settings import Settings
from app.governance.store import GovernanceStore
from tests.execution.lab import AnyArgs, Lab, bare_lab, made


def tool(name: str):
    async def nothing(args: AnyArgs, ctx: Any) -> str:
        return ""

    return made(nothing, name=name)


async def stored(lab: Lab) -> dict[str, tuple[bool, bool]]:
    """name → (present, enabled)"""
    rows = await lab.rows("SELECT name, present, enabled FROM tools ORDER BY name")
    return {name: (bool(present), bool(enabled)) for name, present, enabled in rows}


@pytest.mark.requirement("GOV-03")
async def test_a_restart_adds_new_tools_marks_lost_ones_and_keeps_every_choice(settings: Settings):
    async with bare_lab(settings) as lab:
        lab.add(tool("kept"), tool("lost"))
        await lab.gate.governance.sync(lab.gate.registry.snapshot())
        await lab.gate.governance.set_enabled("kept", enabled=False)
        await lab.gate.governance.set_enabled("lost", enabled=False)
    async with bare_lab(settings) as lab:
        lab.add(tool("kept"), tool("new"))
        await lab.gate.governance.sync(lab.gate.registry.snapshot())
        assert await stored(lab) == {
            "kept": (True, False),
            "lost": (False, False),
            "new": (True, True),
        }
        assert lab.gate.governance.snapshot.state("kept").enabled is False
        lab.add(tool("lost"))
        await lab.gate.governance.sync(lab.gate.registry.snapshot())
        assert (await stored(lab))["lost"] == (True, False)


async def test_a_choice_counts_at_once_grows_the_version_and_is_announced(lab: Lab):
    lab.add(tool("one"))
    store = lab.gate.governance
    await store.sync(lab.gate.registry.snapshot())
    heard: list[Any] = []
    store.on_change(heard.append)
    before = store.snapshot
    state = await store.set_enabled("one", enabled=False)
    assert (state.enabled, state.version) == (False, 2)
    assert (before.state("one").enabled, store.snapshot.state("one").enabled) == (True, False)
    assert heard == [store.snapshot]
    assert store.snapshot.generation == before.generation + 1


async def test_a_choice_about_a_tool_that_never_was_is_refused(lab: Lab):
    with pytest.raises(ToolNotFound, match="nope"):
        await lab.gate.governance.set_enabled("nope", enabled=False)


async def test_a_tool_without_a_row_is_on(lab: Lab):
    store = GovernanceStore(lab.gate.ledger, lab.gate.clock)
    assert store.snapshot.state("anything").enabled is True
