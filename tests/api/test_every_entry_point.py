"""No tool runs without a decision on record, whichever way a call comes in.

Every tool's function is replaced by a witness that reads, through a connection of its
own, what the audit holds about the call at that very moment.
"""

from __future__ import annotations

import ast
import asyncio
import shutil
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from app.agents.runs import RunService
from app.agents.session_queries import SessionQueries
from app.agents.sessions import Sessions
from app.bootstrap.agents import agent_parts, open_runs, recovery_of
from app.bootstrap.container import Runtime
from app.bootstrap.installation import local_runtime
from app.catalog.builtin import register_all_tools
from app.config.settings import Settings
from app.db.engine import Database
from app.execution.confirmation.answers import ConfirmationReply
from app.execution.hooks.model import HookAction, HookConfig, HookContext, HookResult, HookType
from app.governance.approvals.approver import Approver
from app.governance.identity.tokens import Tokens
from tests.agents.suspended import killed
from tests.api.entries import (
    ENTRIES,
    Enter,
    Person,
    Site,
    Witness,
    after_equal_call,
    audit,
    count,
    open_site,
    rest_single,
)
from tests.execution.lab import PATIENCE_S
from tests.execution.test_every_tool import CASES, RUNNABLE
from tests.support.service import settings_for
from tests.support.source import modules

BUILTIN = register_all_tools(installed_plugins=False).snapshot().tools
Impose = Callable[[Runtime], Awaitable[None]]
ALL = list(CASES)
# One other name of each tool that has one: two would be equal calls.
ALIASES = {tool.aliases[0].name: name for name, tool in BUILTIN.items() if tool.aliases}
# The other process has the tools as they are.
RUNNABLE_ALIASES = [alias for alias, name in ALIASES.items() if name in RUNNABLE]
NOT_RUN = {"denied", "disabled", "declined"}


# One name of each kind is called by every way in: reading, writing, a shell, code, the network, a
# question, other agents, the database, an alias, what is off until it is configured.
KINDS = frozenset(
    (
        *("read_file", "write_file", "bash", "execute_python", "web_fetch", "ask_user"),
        *("delegate_task", "mysql_query", "GlobTool", "web_search"),
    )
)
NAMES = [
    name
    for tool in BUILTIN.values()
    for name in (tool.name, *(alias.name for alias in tool.aliases))
]


def turn_of(enter: Enter, column: int) -> frozenset[str]:
    """The names that one way in calls under the imposition of a column.

    The rest of the names is dealt out over the ways in, differently in each column: within one,
    every name is called by some way in.
    """
    row = (ENTRIES.index(enter) + column) % len(ENTRIES)
    return frozenset(NAMES[row :: len(ENTRIES)]) | KINDS


def test_every_name_has_its_turn_under_each_imposition_and_every_way_in_calls_every_kind():
    assert set(NAMES) >= KINDS
    for column in range(len(IMPOSITIONS)):
        assert frozenset().union(*(turn_of(enter, column) for enter in ENTRIES)) == set(NAMES)
    for enter in ENTRIES:
        turns = [turn_of(enter, column) for column in range(len(IMPOSITIONS))]
        assert all(turn >= KINDS for turn in turns)
        assert len(frozenset().union(*turns)) > len(NAMES) / 3


@pytest.fixture
async def site(settings: Settings) -> AsyncIterator[Site]:
    # One command for each name of each tool, one after the other.
    hasty = settings.model_copy(update={"command_burst": 1000})
    async with open_site(hasty) as opened:
        yield opened


async def switch_off(runtime: Runtime) -> None:
    for name in ALL:
        await runtime.governance.set_enabled(name, enabled=False, force=True)


async def deny_by_rule(runtime: Runtime) -> None:
    body = {"tool": "*", "decision": "deny", "justification": "because"}
    await runtime.rules.create(body, actor="boss")


async def deny_by_hook(runtime: Runtime) -> None:
    async def refuse(context: HookContext) -> HookResult:
        return HookResult(HookAction.DENY, "not today")

    runtime.hooks.register(HookConfig("no", HookType.PRE_TOOL_USE, refuse))


async def ask_first(runtime: Runtime) -> None:
    for name in ALL:
        await runtime.governance.change_tool(name, {"requires_confirmation": True}, actor="boss")


async def prime(site: Site) -> None:
    """Have every read answered once in one session, so that an equal one need not run."""
    site.primed = site.session()
    for tool, name, arguments in site.calls():
        if tool.cacheable:
            await after_equal_call(site, name, arguments)


async def everything(site: Site, enter: Enter) -> None:
    """Call every name that is the turn of this way in; each call leaves its row."""
    ended = await count(site.runtime, "call.finished")
    for _, name, arguments in site.calls():
        await enter(site, name, arguments)
        before, ended = ended, await count(site.runtime, "call.finished")
        assert ended > before, f"{name} left no row"


async def check_records(runtime: Runtime, witness: Witness) -> None:
    """Whatever ran had been allowed, and what was asked about had been written down before."""
    finished, decided = await audit(runtime, "call.finished"), await audit(runtime, "call.decided")
    for seen in witness.ran:
        at, verdict, _ = finished[seen.operation_id]
        assert verdict in ("allow", "ask"), seen
        if verdict == "ask":
            ((seq, reported),) = seen.decided
            assert (seq < at, reported) == (True, "ask"), seen
    ran = {seen.operation_id for seen in witness.ran}
    for operation_id, (at, verdict, outcome) in finished.items():
        if verdict == "deny" or outcome in NOT_RUN:
            assert operation_id not in ran
            assert decided[operation_id][0] < at


def counted(site: Site) -> Counter[str]:
    return Counter(seen.tool_name for seen in site.witness.ran)


def names_of(site: Site) -> Counter[str]:
    return Counter(tool.name for tool, _, _ in site.calls())


IMPOSITIONS: tuple[Impose | None, ...] = (
    *(None, ask_first, switch_off, deny_by_rule, deny_by_hook),
)


@pytest.mark.requirement("D-2", "D-22")
@pytest.mark.parametrize("enter", [e for e in ENTRIES if e is not after_equal_call])
async def test_what_is_allowed_runs_once_and_its_decision_is_on_record(site: Site, enter: Enter):
    site.names = turn_of(enter, IMPOSITIONS.index(None))
    await everything(site, enter)
    assert counted(site) == names_of(site)
    await check_records(site.runtime, site.witness)


@pytest.mark.requirement("D-2")
@pytest.mark.parametrize("enter", ENTRIES)
@pytest.mark.parametrize("impose", [switch_off, deny_by_rule, deny_by_hook, ask_first])
async def test_what_is_refused_runs_by_no_way_in(site: Site, enter: Enter, impose: Impose):
    site.names = turn_of(enter, IMPOSITIONS.index(impose))
    await prime(site)
    site.witness.ran.clear()
    await impose(site.runtime)
    if impose is ask_first and enter is not rest_single:
        site.person = Person(site.runtime, "decline")
    finished = set(await audit(site.runtime, "call.finished"))
    await everything(site, enter)
    assert site.witness.ran == []
    ended = await audit(site.runtime, "call.finished")
    assert {ended[new][2] for new in ended.keys() - finished} <= {*NOT_RUN, "skipped"}
    await check_records(site.runtime, site.witness)


@pytest.mark.requirement("D-2")
@pytest.mark.parametrize("enter", ENTRIES)
async def test_what_asks_runs_after_the_question_was_on_record(site: Site, enter: Enter):
    site.names = turn_of(enter, IMPOSITIONS.index(ask_first))
    await prime(site)
    site.witness.ran.clear()
    await ask_first(site.runtime)
    site.person = Person(site.runtime, "approve_once")
    await everything(site, enter)
    assert counted(site) == names_of(site)
    assert all(seen.decided for seen in site.witness.ran)
    await check_records(site.runtime, site.witness)


async def test_a_kept_answer_is_a_decision_too_and_nothing_runs(site: Site):
    await prime(site)
    site.witness.ran.clear()
    for tool, name, arguments in site.calls():
        if tool.cacheable:
            await after_equal_call(site, name, arguments)
    assert site.witness.ran == []
    ended = (await audit(site.runtime, "call.finished")).values()
    assert {(verdict, outcome) for _, verdict, outcome in ended} == {("allow", "success")}


# -- a service that was killed while it asked --------------------------------------------


@asynccontextmanager
async def resumed(settings: Settings) -> AsyncIterator[tuple[Runtime, Witness, RunService]]:
    """A service on what another one left, with the witness in place before anything goes on."""
    async with local_runtime(settings) as runtime:
        witness = Witness(settings.database_path)
        witness.watch(runtime.registry)
        database = Database(settings.database_path)
        try:
            archive = SessionQueries(database)
            sessions = Sessions(
                runtime.db, runtime.events, runtime.clock, archive.load, runtime.redactor
            )
            parts = agent_parts(runtime)
            runs = open_runs(runtime, parts, sessions, None, archive)
            tokens = Tokens(runtime.db, runtime.clock, runtime.audit)
            await runs.resume(await recovery_of(runtime, parts).recover(), tokens)
            yield runtime, witness, runs
        finally:
            await database.close()


async def answer_everything(
    runtime: Runtime, runs: RunService, session_id: str, option_id: str
) -> None:
    for asked in runtime.confirmations.pending(session_id):
        reply = ConfirmationReply(option_id, asked["digest"])
        await runtime.confirmations.answer(
            asked["confirmation_id"], reply, Approver("boss", is_admin=True)
        )
    run = runs.active(session_id)
    if run is not None:
        async with asyncio.timeout(PATIENCE_S):
            await run.done


@pytest.mark.requirement("D-2", "D-4")
@pytest.mark.parametrize("names", [RUNNABLE, RUNNABLE_ALIASES], ids=["tools", "aliases"])
async def test_a_call_that_waited_for_a_restart_runs_only_on_its_answer(
    tmp_path: Path, names: list[str]
):
    settings = settings_for(tmp_path / "first", anthropic_api_key=None)
    async with local_runtime(settings) as runtime:
        await ask_first(runtime)
        # What nobody has configured is off, and so asks nobody.
        on = runtime.resolver.resolve(None).tool_names
    names = [name for name in names if ALIASES.get(name, name) in on]
    plan = [(f"c{at}", name, CASES[ALIASES.get(name, name)][0]) for at, name in enumerate(names)]
    left = await killed(
        settings,
        *plan,
        until={"tool_confirmation_request": len(plan)},
        max_pending_confirmations=len(plan),
    )
    kept = shutil.copytree(settings.data_dir, tmp_path / "kept")
    ways: list[tuple[Impose | None, str, bool]] = [
        (None, "approve_once", True),
        (None, "decline", False),
        (switch_off, "approve_once", False),
        (deny_by_rule, "approve_once", False),
    ]
    for impose, option_id, runs_then in ways:
        shutil.rmtree(settings.data_dir)
        shutil.copytree(kept, settings.data_dir)
        async with resumed(settings) as (runtime, witness, runs):
            if impose is not None:
                await impose(runtime)
            await answer_everything(runtime, runs, left.session_id, option_id)
            expected = Counter(ALIASES.get(name, name) for name in names) if runs_then else {}
            assert Counter(seen.tool_name for seen in witness.ran) == expected
            assert len(await audit(runtime, "call.finished")) == len(names)
            await check_records(runtime, witness)


# -- and nobody goes around the gate -----------------------------------------------------


def test_only_one_line_of_the_service_calls_a_tools_function():
    calls: list[tuple[str, str]] = []
    others: list[tuple[str, str]] = []
    for path, _, tree in modules("app"):
        called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
        for node in ast.walk(tree):
            if not (isinstance(node, ast.Attribute) and node.attr == "function"):
                continue
            (calls if id(node) in called else others).append((path, ast.unparse(node)))
    # The writer runs units of work, not tools; the catalog looks at a function, to show it or
    # to see what it declares, and calls none.
    # A worker process has no door of its own: it runs what the runner has sent there.
    assert sorted(calls) == [
        ("app/db/writer.py", "work.function"),
        ("app/execution/runner.py", "tool.function"),
        ("app/workers/executions.py", "tool.function"),
    ]
    assert {path for path, _ in others} == {
        "app/catalog/builtin.py",
        "app/catalog/declarations.py",
        "app/catalog/plugin_problems.py",
        "app/catalog/registry.py",
    }
    shown = [path for path, text, _ in modules("app") if "get_executor" in text]
    assert shown == ["app/catalog/registry.py"]
