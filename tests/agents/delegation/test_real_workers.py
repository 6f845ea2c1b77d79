"""Delegation through the tools of a whole service, with worker processes as they really are."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from app.agents.content import user_content
from app.agents.models.anthropic import AnthropicModel, AnthropicSettings
from app.bootstrap.service import open_service
from app.config.settings import Settings
from app.core.errors import ToolFailed
from app.execution.calls import CallRequest
from app.execution.confirmation.answers import ConfirmationReply
from app.governance.approvals.approver import Approver
from app.knowledge.sources.store import SourceUpdate
from app.tools.sql.toolset import TOOLS as SQL_TOOLS
from scripts.parts import SANDBOX
from tests.agents.delegation.department import Goals
from tests.agents.models.exchange import KEY, Waits
from tests.agents.office import Office, settle
from tests.execution.lab import Event, Watcher
from tests.operations.sandbox.procs import environment
from tests.support.binaries import lacks
from tests.support.scripted_anthropic.server import ScriptedAnthropic
from tests.support.scripted_anthropic.turns import Gate, Turn, text, tool_use
from tests.workers.test_confinement import memory


@dataclass
class Firm:
    """A service as it is, and a model that answers by goal."""

    office: Office
    goals: Goals

    async def ask(self, words: str, *turns: Any) -> Event:
        """Say something to the main agent, whose answers these are."""
        self.goals.script(words, *turns)
        return await self.office.ask(words)

    def result(self, call_id: str) -> Event:
        return self.office.watcher.of("tool_call_completed", tool_call_id=call_id)[0]


@asynccontextmanager
async def open_firm(settings: Settings, **options: Any) -> AsyncIterator[Firm]:
    goals = Goals()
    async with ScriptedAnthropic(fallback=goals, api_key=KEY) as provider:
        configured = AnthropicSettings(api_key=KEY, base_url=provider.base_url, max_retries=0)
        model = AnthropicModel(configured, sleep=Waits())
        async with open_service(settings, model=model) as service:
            if not service.workspaces.status.levels["bash"].available:
                lacks(SANDBOX)
            yield Firm(settle(service, provider, **options), goals)


@pytest.fixture
async def firm(settings: Settings) -> AsyncIterator[Firm]:
    async with open_firm(settings) as opened:
        yield opened


def is_alive(pid: int) -> bool:
    """Not also as a zombie that nobody has asked after yet."""
    return Path(f"/proc/{pid}/maps").exists() and bool(Path(f"/proc/{pid}/maps").read_bytes())


def delegate(goal: str, call_id: str = "d1", **fields: Any) -> Turn:
    return Turn(tool_use("delegate_task", {"goal": goal, **fields}, id=call_id))


@pytest.mark.requirement("SUB-10", "B-23")
async def test_reading_is_done_in_the_worker_and_writing_here(
    firm: Firm, settings: Settings, monkeypatch: pytest.MonkeyPatch
):
    (settings.workspace_dir / "a.txt").write_text("forty-two")
    firm.goals.script(
        "find out",
        Turn(tool_use("read_file", {"path": "a.txt"}, id="r1")),
        Turn(tool_use("write_file", {"path": "b.txt", "content": "noted"}, id="w1")),
        Turn(text("It says 42.")),
    )
    files = firm.office.runtime.projects.get("default").operations.files

    async def refuses(*_: Any, **__: Any) -> Any:
        raise ToolFailed("This process reads nothing")

    for name in ("read", "read_text", "read_bytes", "read_page", "open_reader"):
        if hasattr(files, name):
            monkeypatch.setattr(type(files), name, refuses)
    run = await firm.ask("please", delegate("find out"), Turn(text("Done.")))
    assert run["status"] == "success"
    read, wrote = firm.result("r1"), firm.result("w1")
    assert (read["status"], "forty-two" in str(read["content"])) == ("success", True)
    assert wrote["status"] == "success"
    assert (settings.workspace_dir / "b.txt").read_text() == "noted"
    started = firm.office.watcher.of("subagent_started")[0]
    assert started["worker_pid"] != os.getpid()
    routes = {e["tool_name"]: e["route"] for e in firm.office.watcher.of("tool_call_started")}
    assert routes["read_file"] == "worker-local"
    assert routes["write_file"] == "main-process-proxy"
    assert routes["delegate_task"] == "main"
    assert "It says 42." in str(firm.result("d1")["content"])


@pytest.mark.requirement("SQL-09")
async def test_the_password_of_a_data_source_is_not_in_the_memory_of_a_worker(firm: Firm):
    password = "gruyere-emmental"
    fields = {
        "name": "Shop",
        "kind": "mysql",
        "host": "127.0.0.1",
        "port": 3306,
        "database": "shop",
        "user": "reader",
        "agents": ("*",),
    }
    await firm.office.runtime.sources.store.create(SourceUpdate(fields, password), actor="ann")
    gate = Gate()
    look = Turn(tool_use("mysql_list_sources", {}, id="s1"))
    firm.goals.script("which shops", look, Turn(gate, text("Shop")))
    firm.goals.script("please", delegate("which shops"), Turn(text("Done.")))
    run_id = await firm.office.say("please")
    listed = await firm.office.watcher.until("tool_call_completed", tool_call_id="s1")
    assert listed["status"] == "success"
    started = firm.office.watcher.of("subagent_started")[0]
    routes = started["tool_runtime_routes"]
    assert {name: routes[name] for name in routes if name.startswith("mysql_")} == {
        tool.name: "main-process-proxy" for tool in SQL_TOOLS
    }
    # Also what administrators are shown, although what needs a service is never sent there.
    assert {tool.routing_hint for tool in SQL_TOOLS} == {"main-process-proxy"}
    (call,) = firm.office.watcher.of("tool_call_started", tool_call_id="s1")
    assert call["route"] == "main-process-proxy"
    pid = started["worker_pid"]
    seen, variables = memory(pid), environment(pid)
    assert b"which shops" not in seen  # the goal stays in the service, too
    assert b"app.workers" in seen
    assert password.encode() not in seen
    assert password not in str(variables)
    gate.open()
    assert (await firm.office.ended(run_id))["status"] == "success"


@pytest.mark.requirement("SUB-12")
async def test_routes_are_reported_again_after_a_restart(settings: Settings):
    async with open_firm(settings) as firm:
        await firm.ask("please", delegate("look", read_only=True), Turn(text("Done.")))
        session_id = firm.office.session.id
        reported = firm.office.watcher.of("subagent_started")[0]["tool_runtime_routes"]
    async with open_firm(settings) as firm:
        reports = await firm.office.service.delegation.reports(session_id=session_id)
        task = reports[0].tasks[0]
        assert dict(task.routes) == reported
        assert task.routes["write_file"] == "disabled"
        assert task.blocked["write_file"]["code"] == "subagent_read_only"


async def test_a_killed_worker_ends_one_task_and_the_others_go_on(firm: Firm):
    gate = Gate()
    firm.goals.script("lives", Turn(gate, text("alive")))
    tasks = [{"goal": "stays", "label": "stays"}, {"goal": "lives", "label": "lives"}]
    look = Turn(text("I look."), tool_use("list_directory", {"path": "."}))
    firm.goals.script("stays", look, Turn(gate, text("too late")))
    use = tool_use("delegate_parallel", {"tasks": tasks}, id="d1")
    firm.goals.script("please", Turn(use), Turn(text("Done.")))
    run_id = await firm.office.say("please")
    await firm.office.watcher.until("subagent_started", 2)
    await firm.office.watcher.until("tool_call_completed", tool_name="list_directory")
    started = firm.office.watcher.of("subagent_started", name="stays")[0]
    os.kill(started["worker_pid"], signal.SIGKILL)
    lost = await firm.office.watcher.until("subagent_finished", name="stays")
    assert (lost["status"], lost["error"]["code"]) == ("error", "worker_lost")
    assert lost["summary"] == "I look."
    gate.open()
    assert (await firm.office.ended(run_id))["status"] == "success"
    lives = firm.office.watcher.of("subagent_finished", name="lives")[0]
    assert (lives["status"], lives["summary"]) == ("success", "alive")


async def test_cancelling_the_run_ends_the_whole_tree(firm: Firm):
    gate = Gate()
    for goal in ("front", "back"):
        firm.goals.script(goal, Turn(gate, text("late")))
    uses = [
        tool_use("delegate_task", {"goal": "back", "background": True}, id="d1"),
        tool_use("delegate_task", {"goal": "front"}, id="d2"),
    ]
    firm.goals.script("please", Turn(*uses))
    run_id = await firm.office.say("please")
    started = [await firm.office.watcher.until("subagent_started", number) for number in (1, 2)]
    assert await firm.office.cancel(run_id)
    ended = [await firm.office.watcher.until("subagent_finished", number) for number in (1, 2)]
    assert [event["status"] for event in ended] == ["cancelled", "cancelled"]
    assert (await firm.office.ended(run_id))["status"] == "cancelled"
    reports = await firm.office.service.delegation.reports(session_id=firm.office.session.id)
    assert {report.status for report in reports} == {"cancelled"}
    for event in started:
        assert not is_alive(event["worker_pid"])
    gate.open()


async def test_what_a_sub_agent_asks_reaches_the_session_and_names_it(firm: Firm):
    command = {"command": "rm -rf build"}
    firm.goals.script("clean up", Turn(tool_use("bash", command, id="b1")), Turn(text("ok")))
    firm.goals.script("please", delegate("clean up", label="cleaner"), Turn(text("Done.")))
    run_id = await firm.office.say("please")
    asked = await firm.office.watcher.until("tool_confirmation_request")
    assert asked["requested_by"]["subagent"] == "cleaner"
    assert asked["requested_by"]["caller"] == "subagent"
    assert asked["parent_tool_call_id"] == "d1"
    reply = ConfirmationReply(option_id="decline", digest=asked["digest"])
    await firm.office.runtime.confirmations.answer(
        asked["confirmation_id"], reply, Approver("ann"), session_id=firm.office.session.id
    )
    assert (await firm.office.ended(run_id))["status"] == "success"
    assert firm.result("b1")["status"] == "declined"


@pytest.mark.requirement("SUB-04")
async def test_many_sub_agents_share_few_processes(settings: Settings):
    few = settings.sub_agent.model_copy(update={"processes": 3})
    async with open_firm(settings.model_copy(update={"sub_agent": few})) as firm:
        service = firm.office.service
        sessions = [service.sessions.create(user_id="ann", project_id="default") for _ in range(4)]
        watchers = [firm.office.watch(session) for session in sessions]
        for number, session in enumerate(sessions):
            tasks = [{"goal": f"g{number}.{k}", "label": f"t{k}"} for k in range(3)]
            use = tool_use("delegate_parallel", {"tasks": tasks}, id="d1")
            firm.goals.script(f"ask {number}", Turn(use), Turn(text("Done.")))
            await service.runs.send_message(session, user_content(f"ask {number}"))
        ends = [await watcher.until("run_finished") for watcher in watchers]
        assert {event["status"] for event in ends} == {"success"}
        finished = [event for watcher in watchers for event in watcher.of("subagent_finished")]
        assert [event["status"] for event in finished] == ["success"] * 12


@pytest.mark.requirement("SUB-15")
async def test_without_a_model_a_sub_agent_says_so(settings: Settings):
    async with open_service(settings) as service:
        session = service.sessions.create(user_id="ann", project_id="default")
        watcher = Watcher()
        session.log.subscribers.add(watcher)
        request = CallRequest("d1", "delegate_task", {"goal": "anything"})
        run = await service.runs.call_tools(session, [request], caller="websocket")
        await watcher.until("run_finished", run_id=run.id)
        completed = watcher.of("tool_call_completed")[0]
        assert completed["status"] == "error"
        assert "ANTHROPIC_API_KEY" in str(completed["content"])


async def test_nothing_is_left_of_workers_when_the_service_closes(settings: Settings):
    gate = Gate()
    async with open_firm(settings) as firm:
        firm.goals.script("long", Turn(gate, text("late")))
        firm.goals.script("please", delegate("long", background=True), Turn(text("Done.")))
        await firm.office.ended(await firm.office.say("please"))
        started = await firm.office.watcher.until("subagent_started")
        assert is_alive(started["worker_pid"])
    assert not is_alive(started["worker_pid"])
