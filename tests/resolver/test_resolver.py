"""One projection of catalog and governance, read by everybody."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.catalog.registry import ToolRegistry
from app.execution.checkpoints.watched_files import WatchedFiles
from app.governance.agents import AgentProfile, SubagentScope
from app.governance.snapshot import GovernanceSnapshot, ToolState
from app.operations.local.files import LocalFiles
from app.resolver.resolver import MAX_ANSWERS, DisabledReason, project
from tests.execution.lab import AnyArgs, Lab, made


async def first(args: AnyArgs, ctx: Any) -> str:
    return ""


def catalog(*names: str, **options: Any):
    registry = ToolRegistry()
    for name in names:
        registry.register(made(first, name=name, **options))
    return registry.snapshot()


def governance(states: Mapping[str, ToolState]) -> GovernanceSnapshot:
    return GovernanceSnapshot(1, MappingProxyType(dict(states)))


@pytest.mark.requirement("GOV-09", "GOV-10", "GOV-11")
@given(
    st.dictionaries(
        st.sampled_from("abcdef"),
        st.builds(ToolState, st.booleans(), st.none() | st.booleans(), st.none() | st.just("hint")),
    )
)
def test_every_tool_is_either_offered_or_has_a_reason(states: dict[str, ToolState]):
    shown = catalog(*"abcdef")
    answer = project(shown, governance(states))
    names, reasons = set(answer.tool_names), set(answer.disabled_reasons)
    assert names | reasons == set(shown.tools)
    assert names & reasons == set()
    assert [entry["name"] for entry in answer.manifest] == list(answer.tool_names)
    assert set(answer.routes) == set(shown.tools)
    assert {answer.routes[name] for name in reasons} <= {"disabled"}
    assert {answer.routes[name] for name in names} <= {"worker-local", "main-process-proxy"}
    assert all(reason.code and reason.message for reason in answer.disabled_reasons.values())
    assert set(answer.prompt_hints) == {
        name for name in names if name in states and states[name].prompt_hint
    }
    assert set(answer.confirmation) <= names


def test_a_route_is_the_tool_s_hint_unless_it_is_off():
    shown = catalog("a", routing_hint="main-process-proxy")
    assert project(shown, governance({})).routes == {"a": "main-process-proxy"}
    off = project(shown, governance({"a": ToolState(enabled=False)}))
    assert off.routes == {"a": "disabled"}
    assert off.disabled_reasons["a"] == DisabledReason(
        "disabled_global", "Tool 'a' is disabled by an administrator"
    )


@pytest.mark.requirement("CNF-04")
@pytest.mark.parametrize(
    ("own", "chosen", "asks"),
    [(True, None, True), (True, False, False), (False, True, True), (False, None, False)],
)
def test_the_operator_s_flag_beats_the_tool_s_own(*, own: bool, chosen: bool | None, asks: bool):
    shown = catalog("a", requires_confirmation=own)
    states = {"a": ToolState(requires_confirmation=chosen)}
    assert ("a" in project(shown, governance(states)).confirmation) is asks


@pytest.mark.requirement("GOV-02", "GOV-08")
async def test_importing_a_tool_exposes_nothing_and_the_catalog_needs_no_database(lab: Lab):
    import app.tools.files.read_file  # noqa: F401

    assert lab.runtime.resolver.resolve().tool_names == ()
    assert catalog("a").rows()[0]["name"] == "a"
    assert (await lab.call("read_file", path="x")).result.code == "tool_not_found"


async def test_the_answer_is_computed_again_only_when_something_changed(lab: Lab):
    resolver, store = lab.runtime.resolver, lab.runtime.governance
    before = resolver.resolve()
    assert resolver.resolve() is before
    lab.add(made(first))
    after = resolver.resolve()
    assert (after is before, after.tool_names) == (False, ("first",))
    await store.sync(lab.runtime.registry.snapshot())
    await store.set_enabled("first", enabled=False)
    assert resolver.resolve().tool_names == ()


@pytest.mark.requirement("GOV-14")
async def test_a_call_acts_through_the_operations_of_its_project_local_by_default(house: Lab):
    seen: list[Any] = []

    async def look(args: AnyArgs, ctx: Any) -> str:
        seen.append(ctx.operations)
        return ""

    house.add(made(look))
    await house.call("look")
    own = house.context["project"].operations
    (given,) = seen
    assert (given.root, given.search, given.processes) == (own.root, own.search, own.processes)
    assert isinstance(own.files, LocalFiles)
    # What the session has read and changes is looked after on the way.
    assert isinstance(given.files, WatchedFiles)


async def test_every_agent_has_its_own_answer_kept_until_something_changes(lab: Lab):
    lab.add(made(first))
    await lab.runtime.catalog_sync.settled()
    await lab.runtime.agents.create(AgentProfile(id="a", selection=()), actor="ann")
    resolver = lab.runtime.resolver
    mine, child, everybody = (
        resolver.resolve("a"),
        resolver.resolve("a", subagent=SubagentScope()),
        resolver.resolve(),
    )
    assert (mine.tool_names, everybody.tool_names) == ((), ("first",))
    assert (mine.agent, everybody.agent) == (AgentProfile(id="a", selection=()), None)
    assert [resolver.resolve("a"), resolver.resolve("a", subagent=SubagentScope())] == [mine, child]
    assert resolver.resolve("a") is mine
    await lab.runtime.agents.change("a", {"selection": None}, actor="ann")
    assert resolver.resolve("a").tool_names == ("first",)


async def test_names_of_agents_that_do_not_exist_fill_no_memory(lab: Lab):
    for number in range(MAX_ANSWERS + 10):
        lab.runtime.resolver.resolve(f"ghost{number}")
    assert len(lab.runtime.resolver._answers) <= MAX_ANSWERS
