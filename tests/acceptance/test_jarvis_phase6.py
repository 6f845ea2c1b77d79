"""The five acceptance criteria of Jarvis phase 6, on a running service.

`MCPClientTool` is the one tool of its list that is not here yet.
"""

from __future__ import annotations

import asyncio
import json
import re
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from app.config.settings import Settings
from app.config.triggers import TriggerSettings
from app.config.web import WebSettings
from app.core.ids import new_id
from tests.support.http import HttpClient
from tests.support.model_api import making
from tests.support.scripted_anthropic.server import ScriptedAnthropic
from tests.support.scripted_anthropic.turns import Turn, text, tool_use
from tests.support.service import Chat, Message, Running, serving, settings_for

pytestmark = pytest.mark.requirement("TST-01")

KEPT = ("task", "schedule", "search", "forum", "time_reasoning")
"""The tools that Jarvis had before."""
NEW = {
    "GlobTool": "READ",
    "GrepTool": "READ",
    "LintTool": "READ",
    "EditTool": "WRITE",
    "LSPTool": "READ",
    "BashTool": "EXTERNAL",
    "PowerShellTool": "EXTERNAL",
    "ScheduleCronTool": "WRITE",
    "ProcessTool": "EXTERNAL",
    "TeamAgentTool": "EXTERNAL",
    "TaskBroadcastTool": "WRITE",
    "RemoteTriggerTool": "EXTERNAL",
    "AskUserQuestionTool": "READ",
}
HOOKS = '''
"""Hooks for every tool."""

from app.execution.hooks.model import HookAction, HookConfig, HookResult, HookType


async def no_thirteen(context):
    if "13" in str(context.arguments):
        return HookResult(HookAction.DENY, "No thirteen here")
    return HookResult(HookAction.CONTINUE)


async def no_answer_42(context):
    if context.tool_name == "calculator" and "42" in str(context.result.text):
        return HookResult(HookAction.DENY, "The answer is withheld")
    return HookResult(HookAction.CONTINUE)


HOOKS = [
    HookConfig("no_thirteen", HookType.PRE_TOOL_USE, no_thirteen),
    HookConfig("no_answer_42", HookType.POST_TOOL_USE, no_answer_42),
]
'''


@pytest.fixture
async def provider() -> AsyncIterator[ScriptedAnthropic]:
    async with ScriptedAnthropic() as provider:
        yield provider


@pytest.fixture
def settings(tmp_path: Path, provider: ScriptedAnthropic) -> Settings:
    return settings_for(
        tmp_path, anthropic_api_key="test-key-of-the-suite", anthropic_base_url=provider.base_url
    )


@pytest.fixture
async def running(settings: Settings) -> AsyncIterator[Running]:
    async with serving(settings) as running:
        yield running


@asynccontextmanager
async def chatting(running: Running) -> AsyncIterator[tuple[Chat, str]]:
    """A client that sees a new session, and its id."""
    session = running.session()
    async with running.connect() as chat:
        await chat.command(type="subscribe", session_id=session.id)
        yield chat, session.id


async def permission_classes(running: Running) -> dict[str, str]:
    """Those of all tools, by each name that a tool has."""
    async with HttpClient(base_url=running.api) as client:
        tools = (await client.get("/tools")).json()["tools"]
    return {
        name: tool["permission_class"]
        for tool in tools
        for name in (tool["name"], *tool["aliases"])
    }


async def call(chat: Chat, session_id: str, tool: str, /, **arguments: Any) -> Message:
    """Call a tool as a client that says yes to what it asks; how the call was completed."""
    ack = await chat.command(
        type="tool_call", session_id=session_id, name=tool, arguments=arguments
    )
    assert ack["type"] == "ack", ack
    while True:
        message = await chat.next()
        if message["type"] == "tool_confirmation_request":
            await chat.send(_yes(message))
        elif message["type"] == "question_asked":
            await chat.send(_blue(message))
        elif (
            message["type"] == "tool_call_completed" and message.get("parent_tool_call_id") is None
        ):
            return message


def _yes(request: Message) -> Message:
    return {
        "v": 1,
        "id": new_id("cmd"),
        "type": "tool_confirmation_response",
        "session_id": request["session_id"],
        "confirmation_id": request["confirmation_id"],
        "option_id": "approve_once",
        "digest": request["digest"],
    }


def _blue(question: Message) -> Message:
    return {
        "v": 1,
        "id": new_id("cmd"),
        "type": "question_response",
        "session_id": question["session_id"],
        "question_id": question["question_id"],
        "outcome": "answered",
        "answer": "blue",
    }


def shown(completed: Message) -> str:
    """What the model would read of a call that succeeded."""
    assert completed["status"] == "success", completed
    return "\n".join(block["text"] for block in completed["content"])


async def test_every_tool_is_registered_under_its_name(running: Running):
    classes = await permission_classes(running)
    assert {name: classes.get(name) for name in NEW} == NEW
    assert classes.keys() >= set(KEPT)


async def test_hooks_before_and_after_a_call_stop_it(settings: Settings):
    settings.plugins_dir.mkdir(parents=True)
    (settings.plugins_dir / "numbers.py").write_text(HOOKS)
    async with serving(settings) as running, chatting(running) as (chat, session_id):
        free = await call(chat, session_id, "calculator", expression="5 * 5")
        before = await call(chat, session_id, "BashTool", command="touch made-13")
        after = await call(chat, session_id, "calculator", expression="6 * 7")

    assert shown(free) == "25"
    assert (before["status"], before["error"]["code"]) == ("denied", "hook_denied")
    assert not list(settings.data_dir.rglob("made-13"))
    assert after["error"]["code"] == "hook_denied"
    assert after["content"] == [{"type": "text", "text": "The answer is withheld"}]


async def test_what_is_marked_as_streaming_streams(running: Running):
    async with chatting(running) as (chat, session_id):
        done = await call(chat, session_id, "BashTool", command="echo one; echo two")
        pieces = [event["text"] for event in chat.events("tool_result_streamed")]

    assert "".join(pieces) == "one\ntwo\n"
    assert shown(done).startswith("one\ntwo")


async def test_each_new_tool_does_its_work(running: Running):
    async with chatting(running) as (chat, session_id):

        async def use(tool: str, /, **arguments: Any) -> str:
            return shown(await call(chat, session_id, tool, **arguments))

        await use(
            "BashTool", command="printf 'import os\n\n\ndef area(side):\n    return side\n' > a.py"
        )
        assert "a.py" in await use("GlobTool", pattern="*.py")
        assert "def area" in await use("GrepTool", pattern="area", output_mode="content")
        assert "F401" in await use("LintTool", path="a.py")
        await use("EditTool", path="a.py", old_text="return side", new_text="return side * side")
        assert "side * side" in await use("BashTool", command="cat a.py")
        assert "area" in await use("LSPTool", operation="documentSymbol", path="a.py")
        begun = await use("BashTool", command="echo up; sleep 600", background=True)
        (process_id,) = re.findall(r"\bproc_\w+", begun)[:1]
        assert "up" in await use("ProcessTool", action="wait", process_id=process_id, pattern="up")
        assert process_id in await use("ProcessTool", action="list")
        await use("ProcessTool", action="kill", process_id=process_id)
        await use(
            "ScheduleCronTool", action="create", name="daily", prompt="Look", cron="0 9 * * *"
        )
        assert "daily" in await use("ScheduleCronTool", action="list")
        assert "blue" in await use(
            "AskUserQuestionTool", question="Which?", choices=["red", "blue"]
        )


async def test_powershell_runs_or_says_what_is_missing(running: Running):
    async with chatting(running) as (chat, session_id):
        done = await call(chat, session_id, "PowerShellTool", command="Write-Output hello")
    if shutil.which("pwsh"):
        assert "hello" in shown(done)
    else:
        assert (done["status"], done["error"]["code"]) == ("disabled", "missing_program")


async def test_a_team_works_and_hears_what_is_broadcast(
    running: Running, provider: ScriptedAnthropic
):
    """Two members work; the second starts when the first has heard the word."""
    heard = asyncio.Event()

    def second(request: Any) -> Turn:
        assert "Hurry up" in json.dumps(request.body)
        heard.set()
        return Turn(text("counted"))

    provider.script(
        Turn(tool_use("TaskBroadcastTool", {"text": "Hurry up"})),
        second,
        Turn(text("written")),
    )
    async with chatting(running) as (chat, session_id):
        done = await call(
            chat,
            session_id,
            "TeamAgentTool",
            name="office",
            members=[{"name": "ann", "role": "counts"}, {"name": "ben", "role": "writes"}],
            tasks=[
                {"name": "count", "member": "ann", "instruction": "Count."},
                {"name": "write", "member": "ben", "instruction": "Write.", "after": ["count"]},
            ],
        )
    assert heard.is_set()
    assert "counted" in shown(done)
    assert "written" in shown(done)


async def test_a_trigger_reaches_the_other_system(tmp_path: Path):
    async with making() as other:
        settings = settings_for(
            tmp_path,
            triggers=TriggerSettings(allow=[other.url]),
            web=WebSettings(allow_networks=["127.0.0.0/8"]),
        )
        async with serving(settings) as running, chatting(running) as (chat, session_id):
            done = await call(
                chat, session_id, "RemoteTriggerTool", url=f"{other.url}/build", method="POST"
            )
    assert "200" in shown(done)
    assert [asked.path for asked in other.asked] == ["/v1/build"]


async def test_the_tools_that_were_there_before_work_as_they_did(running: Running):
    async with chatting(running) as (chat, session_id):

        async def use(tool: str, /, **arguments: Any) -> str:
            return shown(await call(chat, session_id, tool, **arguments))

        await use("task", action="create", title="Water the plants")
        assert "Water the plants" in await use("task", action="list")
        await use("schedule", action="add", title="Dentist", start="2031-05-01T10:00:00")
        assert "Dentist" in await use("schedule", action="list", start="2031-05-01")
        await use("forum", action="post", title="Freeze", body="No deploys today.")
        assert "Freeze" in await use("forum", action="list")
        assert "calculator" in await use("search", query="calculator", scope="tools")
        assert "Thursday" in await use("time_reasoning", operation="weekday", value="2031-05-01")
