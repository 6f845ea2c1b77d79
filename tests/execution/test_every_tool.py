"""Each built-in tool, through the whole gate: once as it should go, once as it should not."""

from __future__ import annotations

import asyncio
import base64
import json
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from app.agents.schedules.service import ScheduleService
from app.bootstrap.container import Runtime
from app.bootstrap.tool_services import developer_services
from app.core.errors import ToolFailed
from app.domain.delegation import DELEGATION, TaskSpec
from app.domain.memory import MemoryAuthor, MemoryInput, MemoryScope
from app.domain.rule_requests import RULE_REQUESTS, RuleRequest, RuleRequestState
from app.domain.schedules import SCHEDULES
from app.domain.web import WEB_ACCESS, WEB_SEARCH
from app.events.log import Frame
from app.execution.interactions.replies import QuestionReply
from app.knowledge.outbound_requests.store import OutboundRequestChange
from app.operations.images.provider import IMAGE_PROVIDER
from app.operations.protocols.operations import Operations
from app.operations.screens.pictures import PageRequest, Picture
from app.operations.screens.screens import Screens
from app.operations.web.protocol import WebResponse
from app.operations.web.urls import parse_url
from app.toolkit.context import ToolContext
from app.toolkit.ports import SCREEN_CAPTURE
from app.tools.data.weather.reports import WEATHER
from app.tools.data.weather.simulated import SimulatedWeather
from app.tools.media.image_work import LocalDrawing
from tests.channels.operator_lab import channel, sitting
from tests.execution.lab import Lab
from tests.execution.orders import orders_source
from tests.support.model_api import PNG
from tests.support.source import ROOT
from tests.tools.calls import assert_as_declared
from tests.tools.delegation.scripted import ScriptedDelegation
from tests.tools.web.pages import EngineByHeart, PagesByHeart

Arguments = dict[str, Any]

CASES: dict[str, tuple[Arguments, Arguments]] = {
    "read_file": ({"path": "a.txt"}, {"path": "missing.txt"}),
    "write_file": ({"path": "new/b.txt", "content": "x"}, {"path": "folder", "content": "x"}),
    "edit_file": (
        {"path": "a.txt", "old_text": "hello", "new_text": "bye"},
        {"path": "a.txt", "old_text": "nowhere", "new_text": "bye"},
    ),
    "patch": (
        {"patch": "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-hello\n+bye\n"},
        {"patch": "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-nowhere\n+bye\n"},
    ),
    "list_dir": ({"path": "."}, {"path": "a.txt"}),
    "file_exists": ({"path": "a.txt"}, {"path": "../outside"}),
    "file_mkdir": ({"path": "made"}, {"path": "a.txt/made"}),
    "file_delete": ({"path": "a.txt"}, {"path": "folder"}),
    "find_files": ({"pattern": "*.txt"}, {"pattern": "*", "path": "../.."}),
    "grep": ({"pattern": "hello"}, {"pattern": "("}),
    "file_search": ({"query": "hello", "pattern": "*.TXT"}, {"pattern": "*", "path": "../.."}),
    "search_tools": ({"query": "read a file"}, {"query": ""}),
    "read_result": ({}, {"tool_call_id": "nope"}),
    "ask_user": ({"question": "Which?", "choices": ["x", "y"]}, {"question": " "}),
    "escalate": ({"reason": "May I?"}, {"reason": "May I?", "to": "model_tier"}),
    "request_rule": (
        {"tool_call_id": "call_1", "reason": "These logs are rotated every hour"},
        {"tool_call_id": "call_none", "reason": "These logs are rotated every hour"},
    ),
    "bash": ({"command": "cat a.txt"}, {"command": "exit 3"}),
    "powershell": ({"command": "Get-Content a.txt"}, {"command": "exit 3"}),
    "process": ({"action": "list"}, {"action": "poll", "process_id": "proc_none"}),
    "execute_python": ({"code": "print(1)"}, {"code": "1 / 0"}),
    "todo": (
        {"todos": [{"id": "1", "content": "Read the log", "status": "in_progress"}]},
        {"todos": [{"id": "1", "content": "x", "parent": "2"}]},
    ),
    "task": (
        {"action": "create", "title": "Renew it", "due": "2026-12-01"},
        {"action": "get", "id": "task_none"},
    ),
    "schedule": (
        {"action": "add", "title": "Review", "start": "2026-11-30T14:00", "tz": "Asia/Shanghai"},
        {"action": "remove", "id": "apt_none"},
    ),
    "remote_trigger": ({"name": "deploy"}, {"name": "deploy", "body": "x"}),
    "schedule_cron": ({"action": "list"}, {"action": "get", "id": "sch_none"}),
    "forum": (
        {"action": "post", "title": "Deploy", "body": "Staging is free."},
        {"action": "read", "post": 1},
    ),
    "memory_save": (
        {"content": "Prefers tea.", "tags": ["taste"]},
        {"content": "x", "scope": "agent"},
    ),
    "memory_recall": ({"query": "tea"}, {"query": "x", "scope": "agent"}),
    "memory_read": ({"recent_count": 2}, {"start_line": 2, "end_line": 1}),
    "memory_forget": ({"key": "k"}, {"key": "missing"}),
    "delegate_task": ({"goal": "Count the files"}, {"goal": " "}),
    "delegate_parallel": (
        {"tasks": [{"goal": "Read a.txt", "label": "a"}, {"goal": "Read b.txt", "label": "b"}]},
        {"tasks": [{"goal": "x", "label": "a"}, {"goal": "y", "label": "a"}]},
    ),
    "team_agent": (
        {
            "name": "crew",
            "members": [{"name": "Ann", "role": "Reader"}, {"name": "Bob", "role": "Writer"}],
            "tasks": [
                {"name": "read", "member": "Ann", "instruction": "Read a.txt"},
                {"name": "write", "member": "Bob", "instruction": "Sum it up", "after": ["read"]},
            ],
            "review": "Ann",
        },
        {
            "name": "crew",
            "members": [{"name": "Ann", "role": "Reader"}],
            "tasks": [{"name": "read", "member": "Eve", "instruction": "Read a.txt"}],
        },
    ),
    "task_broadcast": ({"text": "The deadline is noon."}, {"text": " "}),
    "delegate_status": ({}, {"id": "tsk_none"}),
    "delegate_cancel": ({"id": "tsk_1_1"}, {"id": "tsk_none"}),
    "calculator": ({"expression": "1+1"}, {"expression": "1/0"}),
    "text_process": (
        {"text": "a b", "operation": "words"},
        {"text": "a", "operation": "regex_extract", "pattern": "("},
    ),
    "json_process": (
        {"json_string": "[1]", "operation": "parse"},
        {"json_string": "[", "operation": "parse"},
    ),
    "search": ({"query": "hello"}, {"query": " "}),
    "time_reasoning": ({"operation": "now"}, {"operation": "now", "tz": "Mars/Olympus"}),
    "get_weather": ({"city": "北京"}, {"city": " "}),
    "lint": ({"path": "a.txt"}, {"path": "missing.py"}),
    "lint_fix": ({"path": "folder"}, {"path": "missing.py"}),
    "lsp": (
        {"operation": "workspaceSymbol", "query": "x", "server": "ty"},
        {"operation": "hover", "path": "missing.py", "line": 1},
    ),
    # With a path, which every action takes and one needs.
    "git": ({"action": "status", "path": "a.txt"}, {"action": "log"}),
    "screenshot": ({"url": "https://example.org"}, {"url": "javascript:x"}),
    "text_to_image": ({"prompt": "A roof", "image_size": "small"}, {"prompt": "x", "count": 5}),
    "image_to_image": ({"prompt": "Snow", "image": "dot.png"}, {"prompt": "x", "image": "a.txt"}),
    "read_skill": ({"name": "image-statistics"}, {"name": "nothing"}),
    "read_skill_file": (
        {"name": "image-statistics", "path": "references/reading-the-figures.md"},
        {"name": "image-statistics", "path": "../SKILL.md"},
    ),
    "skill_manage": ({"action": "list"}, {"action": "delete", "name": "nothing"}),
    "execute_skill": (
        {"name": "image-statistics", "args": {"image": "dot.png"}},
        {"name": "image-statistics", "args": {"image": "missing.png"}},
    ),
    "send_media": ({"file_paths": ["a.txt"]}, {"file_paths": ["missing.txt"]}),
    "web_search": ({"query": "x"}, {"query": " "}),
    "web_fetch": ({"url": "http://a.test/"}, {"url": "http://b.test/"}),
    "crawl_batch": ({"urls": ["http://a.test/"]}, {"urls": ["http://a.test/"] * 11}),
    "mysql_list_sources": ({}, {"all": True}),
    "mysql_schema": ({"source_id": "Shop"}, {"source_id": "Shop", "tables": ["none"]}),
    "mysql_table_sample": (
        {"source_id": "Shop", "table": "orders"},
        {"source_id": "Shop", "table": "none"},
    ),
    "mysql_query": (
        {"source_id": "Shop", "sql": "SELECT total FROM orders"},
        {"source_id": "Shop", "sql": "DELETE FROM orders"},
    ),
    "weixin_send_text": (
        {"text": "x", "target": "Support", "channel_id": "shop"},
        {"text": "x", "target": "Others", "channel_id": "shop"},
    ),
}


# One grey pixel.
DOT = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg=="
)
# Off where its program is missing, with a reason that a test of its own looks at.
NEEDS = {"powershell": "pwsh"}
RUNNABLE = [name for name in CASES if name not in NEEDS or shutil.which(NEEDS[name])]


class Answerer:
    """Takes the first choice of whatever a tool asks the user."""

    def __init__(self, house: Lab) -> None:
        self._runtime = house.runtime
        self._answers: list[asyncio.Task[Any]] = []

    def deliver(self, session_id: str, frame: Frame) -> None:
        event = json.loads(frame.body)
        if event["type"] == "question_asked":
            said = QuestionReply("answered", "choice_1")
            answering = self._runtime.questions.answer(
                event["question_id"], said, by="ann", session_id=session_id
            )
            self._answers.append(asyncio.create_task(answering))


class WebByHeart(PagesByHeart):
    """Pages, and another system that answers every request."""

    async def request(self, method: str, url: str, **_: Any) -> WebResponse:
        return WebResponse(url, 200, (), b"started")


async def store_trigger(runtime: Runtime) -> None:
    """Keep the request that `remote_trigger` sends here; nobody is asked before it."""
    fields = {"name": "deploy", "free": True, "agents": ("*",)}
    await runtime.triggers.store.create(
        OutboundRequestChange(fields, "http://a.test/hook"), actor="boss"
    )


class RequestsByHeart:
    """One refused call, for which a rule can be requested."""

    async def request(self, wanted: RuleRequest, ctx: ToolContext) -> RuleRequestState:
        del ctx
        if wanted.call_id != "call_1":
            raise ToolFailed("No refused call has this ID", code="call_not_refused")
        return RuleRequestState("rpr_1", "open", "rm var/log/worker.log.3")


class StillScreens(Screens):
    """No browser: one picture of everything."""

    async def page(self, operations: Operations, request: PageRequest) -> Picture:
        parse_url(request.url)
        return Picture(b"\x89PNG\r\n\x1a\n", request.width, request.height)


@pytest.fixture
async def furnished(house: Lab, tmp_path: Path) -> AsyncIterator[Lab]:
    files = house.context["project"].operations.files
    await files.write("a.txt", b"hello\n")
    await files.write("folder/inside.txt", b"x\n")
    await files.write("dot.png", PNG)
    await files.write(".git/HEAD", b"ref: refs/heads/main\n")
    await files.write("dot.png", DOT)
    await files.make_dir(".git/objects")
    await files.make_dir(".git/refs")
    services, settings = house.runtime.services, house.runtime.settings
    house.session.log.subscribers.add(Answerer(house))
    await orders_source(house.runtime, tmp_path)
    await channel(house.runtime.channels)
    async with (
        developer_services(settings, services),
        sitting(house.runtime.channels.operators),
    ):
        services.register(SCREEN_CAPTURE, StillScreens(settings.screens))
        services.register(WEATHER, SimulatedWeather())
        kept = MemoryInput("something to forget", key="k")
        await house.runtime.memory.store.save(
            MemoryScope("user", "ann"), kept, MemoryAuthor("test"), expected=None
        )
        services.register(IMAGE_PROVIDER, LocalDrawing(4))
        services.register(DELEGATION, await _sub_agents(house))
        services.register(SCHEDULES, schedules_of(house.runtime))
        services.register(RULE_REQUESTS, RequestsByHeart())
        services.register(WEB_ACCESS, WebByHeart({"http://a.test/": b"<p>hello"}))
        await store_trigger(house.runtime)
        services.register(WEB_SEARCH, EngineByHeart())
        yield house


async def _sub_agents(house: Lab) -> ScriptedDelegation:
    """One of them is at work in the background."""
    delegation = ScriptedDelegation()
    context = ToolContext("call_0", "op_0", session_id=house.session.id)
    spec = TaskSpec(goal="Watch the log", label="watcher")
    await delegation.start([spec], context, kind="task", background=True)
    return delegation


def schedules_of(runtime: Runtime) -> ScheduleService:
    """The book of schedules, of which nothing begins."""
    return ScheduleService(
        runtime.db, runtime.clock, runtime.audit, runtime.changes, runtime.settings.schedules
    )


def test_the_examples_of_the_documentation_are_these_calls():
    examples = json.loads((ROOT / "examples" / "calls.json").read_text(encoding="utf-8"))
    calls = {name: fits for name, (fits, _) in CASES.items()}
    assert examples == calls, "examples/calls.json contains the first call of each tool in CASES"


def test_every_tool_has_its_two_cases(house: Lab):
    tools = set(house.runtime.registry.snapshot().tools)
    assert set(CASES) == tools, "CASES needs two calls of each built-in tool"


@pytest.mark.requirement("TST-02")
@pytest.mark.parametrize("name", RUNNABLE)
async def test_a_tool_succeeds_and_is_recorded(furnished: Lab, name: str):
    outcome = await furnished.call(name, "c1", **CASES[name][0])
    assert (outcome.status, outcome.result.error) == ("success", None)
    tool = furnished.runtime.registry.snapshot().tools[name]
    assert tool.return_schema is not None
    assert_as_declared(tool, outcome.result)
    rows = await furnished.rows("SELECT tool_name, status, success FROM tool_calls")
    assert rows == [(name, "success", 1)]


@pytest.mark.requirement("TST-02")
@pytest.mark.parametrize("name", RUNNABLE)
async def test_a_tool_fails_with_a_sentence_and_is_recorded(furnished: Lab, name: str):
    outcome = await furnished.call(name, "c1", **CASES[name][1])
    assert outcome.success is False
    assert outcome.status in ("error", "invalid_arguments")
    assert len(str(outcome.result.error)) > 5
    rows = await furnished.rows("SELECT tool_name, success FROM tool_calls")
    assert rows == [(name, 0)]
