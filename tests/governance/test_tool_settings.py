"""The catalog in the database, and what an operator chose."""

from __future__ import annotations

import json
from typing import Any

import pytest

from app.config.settings import Settings
from app.core.errors import Conflict, NotFound, ToolNotFound, VersionMismatch
from app.governance.agents import AgentProfile
from app.governance.limits import Limits
from app.governance.tool_settings import ToolSettingsRepository
from tests.execution.lab import AnyArgs, Lab, bare_lab, made


async def nothing(args: AnyArgs, ctx: Any) -> str:
    return ""


def tool(name: str):
    return made(nothing, name=name)


async def stored(lab: Lab) -> dict[str, tuple[bool, bool]]:
    """name → (present, enabled)"""
    rows = await lab.rows("SELECT name, present, enabled FROM tools ORDER BY name")
    return {name: (bool(present), bool(enabled)) for name, present, enabled in rows}


@pytest.mark.requirement("GOV-03")
async def test_a_restart_adds_new_tools_marks_lost_ones_and_keeps_every_choice(settings: Settings):
    async with bare_lab(settings) as lab:
        lab.add(tool("kept"), tool("lost"))
        await lab.runtime.governance.sync(lab.runtime.registry.snapshot())
        await lab.runtime.governance.set_enabled("kept", enabled=False)
        await lab.runtime.governance.set_enabled("lost", enabled=False)
    async with bare_lab(settings) as lab:
        lab.add(tool("kept"), tool("new"))
        await lab.runtime.governance.sync(lab.runtime.registry.snapshot())
        assert await stored(lab) == {
            "kept": (True, False),
            "lost": (False, False),
            "new": (True, True),
        }
        assert lab.runtime.governance.snapshot.state("kept").enabled is False
        lab.add(tool("lost"))
        await lab.runtime.governance.sync(lab.runtime.registry.snapshot())
        assert (await stored(lab))["lost"] == (True, False)


async def test_a_choice_counts_at_once_grows_the_version_and_is_announced(lab: Lab):
    lab.add(tool("one"))
    store = lab.runtime.governance
    await store.sync(lab.runtime.registry.snapshot())
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
        await lab.runtime.governance.set_enabled("nope", enabled=False)


async def test_a_tool_without_a_row_is_on(lab: Lab):
    store = ToolSettingsRepository(lab.runtime.db, lab.runtime.clock)
    assert store.snapshot.state("anything").enabled is True


async def two_tools(lab: Lab) -> ToolSettingsRepository:
    lab.add(tool("one"), tool("two"))
    await lab.runtime.governance.sync(lab.runtime.registry.snapshot())
    return lab.runtime.governance


async def test_every_choice_is_kept_read_back_and_put_on_record(lab: Lab):
    store = await two_tools(lab)
    choices = {
        "enabled": False,
        "is_core": True,
        "prompt_hint": "be careful",
        "requires_confirmation": True,
        "timeout_s": 5.0,
        "max_output_chars": 500,
        "limits": Limits(calls_per_minute=3),
    }
    state = await store.change_tool("one", choices, actor="ann")
    assert {name: getattr(state, name) for name in choices} == choices
    again = ToolSettingsRepository(lab.runtime.db, lab.runtime.clock)
    await again.reload()
    assert again.snapshot.tools == store.snapshot.tools
    (row,) = await lab.rows(
        "SELECT kind, actor, subject, tool_name, detail FROM audit WHERE kind LIKE 'governance%'"
    )
    assert row[:4] == ("governance.tool", "ann", "one", "one")
    detail = json.loads(row[4])
    assert (detail["before"]["enabled"], detail["after"]["enabled"]) == (True, False)
    assert detail["after"]["limits"] == {"calls_per_minute": 3}


async def test_what_changes_nothing_leaves_version_and_record_alone(lab: Lab):
    store = await two_tools(lab)
    before = store.snapshot
    state = await store.change_tool("one", {"enabled": True}, actor="ann")
    assert (state.version, store.snapshot) == (1, before)
    assert await lab.rows("SELECT * FROM audit WHERE kind LIKE 'governance%'") == []


async def test_of_two_changes_of_one_version_the_second_is_refused(lab: Lab):
    store = await two_tools(lab)
    await store.change_tool("one", {"prompt_hint": "a"}, actor="ann", expected=1)
    with pytest.raises(VersionMismatch) as caught:
        await store.change_tool("one", {"prompt_hint": "b"}, actor="bob", expected=1)
    assert caught.value.details["version"] == 2
    assert store.snapshot.state("one").prompt_hint == "a"


async def test_many_tools_are_switched_together_or_not_at_all(lab: Lab):
    store = await two_tools(lab)
    with pytest.raises(ToolNotFound) as caught:
        await store.switch_tools(["one", "no", "nope"], enabled=False, actor="ann")
    assert caught.value.details["unknown"] == ["no", "nope"]
    assert store.snapshot.state("one").enabled is True
    assert await store.switch_tools(["one", "two", "one"], enabled=False, actor="ann") == [
        "one",
        "two",
    ]
    assert await store.switch_tools(["one", "two"], enabled=False, actor="ann") == []


@pytest.mark.requirement("GOV-05", "B-33")
async def test_a_core_tool_is_not_switched_off_by_accident(lab: Lab):
    lab.add(made(nothing, name="base", core=True, toolset="kit"), tool("two"))
    store = lab.runtime.governance
    await store.sync(lab.runtime.registry.snapshot())
    with pytest.raises(Conflict, match=r"base: core tools"):
        await store.switch_tools(["base", "two"], enabled=False, actor="ann")
    with pytest.raises(Conflict, match="base"):
        await store.change_toolset("kit", enabled=False, actor="ann")
    assert store.snapshot.state("two").enabled is True
    await store.set_enabled("base", enabled=False, actor="ann", force=True)
    assert lab.runtime.resolver.resolve().disabled_reasons["base"].code == "disabled_global"


async def test_a_toolset_is_switched_and_its_tools_keep_their_switches(lab: Lab):
    lab.add(made(nothing, name="a", toolset="kit"), made(nothing, name="b", toolset="kit"))
    store = lab.runtime.governance
    await store.sync(lab.runtime.registry.snapshot())
    await store.set_enabled("a", enabled=False)
    assert (await store.change_toolset("kit", enabled=False, actor="ann", expected=1)).version == 2
    assert lab.runtime.resolver.resolve().tool_names == ()
    await store.change_toolset("kit", enabled=True, actor="ann")
    assert lab.runtime.resolver.resolve().tool_names == ("b",)
    with pytest.raises(NotFound, match="nowhere"):
        await store.change_toolset("nowhere", enabled=False, actor="ann")


@pytest.mark.requirement("GOV-03")
async def test_a_catalog_that_changes_while_the_service_runs_is_synced(settings: Settings):
    async with bare_lab(settings) as lab:
        lab.add(tool("early"))
        await lab.runtime.catalog_sync.settled()
        await lab.runtime.governance.set_enabled("early", enabled=False)
        lab.runtime.registry.unregister("early")
        lab.add(tool("late"))
        await lab.runtime.catalog_sync.settled()
        assert await stored(lab) == {"early": (False, False), "late": (True, True)}
        lab.add(tool("early"))
        await lab.runtime.catalog_sync.settled()
        assert (await stored(lab))["early"] == (True, False)
        assert lab.runtime.resolver.resolve().disabled_reasons["early"].code == "disabled_global"


async def test_what_another_process_decides_counts_here_after_the_next_look(settings: Settings):
    async with bare_lab(settings) as here, bare_lab(settings) as there:
        for lab in (here, there):
            lab.add(tool("one"))
            await lab.runtime.catalog_sync.settled()
        await there.runtime.governance.set_enabled("one", enabled=False)
        await there.runtime.agents.create(AgentProfile(id="writer"), actor="ann")
        assert here.runtime.governance.snapshot.state("one").enabled is True
        await here.runtime.changes.poll()
        assert here.runtime.governance.snapshot.state("one").enabled is False
        assert here.runtime.agents.get("writer") == AgentProfile(id="writer")
        seen = here.runtime.governance.snapshot
        await here.runtime.changes.poll()
        assert here.runtime.governance.snapshot is seen


async def test_limits_that_cannot_be_read_let_nothing_through(lab: Lab):
    store = await two_tools(lab)
    await lab.runtime.db.transact(
        lambda t: t.execute("UPDATE tools SET limits = 'broken' WHERE name = 'one'")
    )
    await store.reload()
    assert store.snapshot.state("one").limits.calls_per_run == 0
