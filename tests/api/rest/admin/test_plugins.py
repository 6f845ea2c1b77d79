"""The plugin folder is read again while the service runs."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx2
import pytest

from app.execution.calls import CallRequest
from app.execution.outcome import CallOutcome
from app.toolkit.result import ToolResult
from tests.api.people import user
from tests.api.rest.client import call, problem
from tests.cli.program import tollgate
from tests.support.service import Running

DOOR: dict[str, asyncio.Event] = {}
"""`started` and `open` of the plugin's slow tool."""

SLOW = """
from app.catalog.seed_api import get_service, register_service, tool
from tests.api.rest.admin.test_plugins import DOOR

NOTHING = {"type": "object"}
register_service("word", "VERSION")

@tool(name="slow", description="Waits.", parameters=NOTHING)
async def slow(arguments):
    DOOR["started"].set()
    await DOOR["open"].wait()
    from .words import WORD
    return {"word": "VERSION"}

@tool(name="said", description="Says it.", parameters=NOTHING)
def said(arguments):
    return {"word": get_service("word")}
"""
ADDED = """
from app.catalog.seed_api import register
register("more", lambda arguments: 1, "More.", {"type": "object"})
"""
REPLACES = """
from tests.catalog.factories import make_tool

def register(registry):
    registry.register(make_tool("calculator"), replace=True)
"""
HOOK = """
from app.execution.hooks.model import HookConfig, HookType, HookResult

async def look(context):
    return HookResult()

HOOKS = [HookConfig("look", HookType.PRE_TOOL_USE, look)]
"""


def write(folder: Path, files: Mapping[str, str]) -> None:
    for name, source in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source, encoding="utf-8")


def version(word: str) -> dict[str, str]:
    return {
        "slow/__init__.py": SLOW.replace("VERSION", word),
        "slow/words.py": f"WORD = {word!r}\n",
    }


@pytest.fixture
def plugins(settings: Any) -> Path:
    DOOR.update(started=asyncio.Event(), open=asyncio.Event())
    write(settings.plugins_dir, version("old"))
    return Path(settings.plugins_dir)


async def reload(client: httpx2.AsyncClient) -> dict[str, Any]:
    answer = await client.post("/admin/plugins/reload")
    assert answer.status_code == 200, answer.text
    changed: dict[str, Any] = answer.json()
    return changed


def outcome_of(name: str) -> CallOutcome:
    request = CallRequest("call_1", name, {})
    return CallOutcome(
        request=request,
        operation_id="op_1",
        tool_name=name,
        status="success",
        result=ToolResult.ok({}),
        text="old",
    )


async def word(client: httpx2.AsyncClient, name: str = "said") -> str:
    done = await call(client, name, arguments={})
    assert done["status"] == "success", done
    said: str = json.loads(done["text"])["word"]
    return said


async def test_what_has_changed_is_taken_and_a_running_call_ends_with_its_code(
    plugins: Path, client: httpx2.AsyncClient, serving: Running
):
    running = asyncio.create_task(word(client, "slow"))
    await asyncio.wait_for(DOOR["started"].wait(), 60)
    write(plugins, {**version("new"), "more.py": ADDED})
    changed = await reload(client)
    assert (changed["read"], changed["tools_added"]) == (["more", "slow"], ["more"])
    assert changed["tools_changed"] == ["slow", "said"]
    assert await word(client) == "new"
    DOOR["open"].set()
    assert await running == "old"
    assert await word(client, "slow") == "new"
    (plugins / "more.py").unlink()
    changed = await reload(client)
    assert (changed["removed"], changed["tools_removed"]) == (["more"], ["more"])
    assert (await client.get("/tools/more")).status_code == 404
    nothing: dict[str, Any] = {key: [] for key in changed}
    assert await reload(client) == nothing
    rows = (await client.get("/admin/audit?kind=governance.plugins")).json()["rows"]
    assert [row["actor"] for row in rows] == ["local"] * 3


async def test_a_plugin_that_does_not_load_leaves_everything_as_it_was(
    plugins: Path, client: httpx2.AsyncClient
):
    modules = {name for name in sys.modules if name.startswith("_tollgate_plugin")}
    broken = {"slow/__init__.py": "raise SystemExit('no')", "more.py": ADDED}
    write(plugins, broken)
    refused = await problem(await client.post("/admin/plugins/reload"))
    assert (refused["status"], refused["code"]) == (409, "plugins_refused")
    assert "slow/__init__.py:1: SystemExit: no" in refused["detail"]
    assert refused["details"]["plugins"] == ["slow"]
    assert await word(client) == "old"
    assert (await client.get("/tools/more")).status_code == 404
    assert {name for name in sys.modules if name.startswith("_tollgate_plugin")} == modules
    write(plugins, version("newer"))
    assert (await reload(client))["tools_added"] == ["more"]
    assert await word(client) == "newer"


async def test_a_plugin_that_was_broken_before_keeps_nobody_from_a_reload(
    plugins: Path, client: httpx2.AsyncClient
):
    write(plugins, {"more.py": ADDED})
    await reload(client)
    write(plugins, {"more.py": ADDED.replace('"more"', '"slow"')})
    twice = await problem(await client.post("/admin/plugins/reload"))
    assert "slow" in twice["detail"]
    write(plugins, {"more.py": ADDED})
    assert (await reload(client))["problems"] == []


async def test_a_tool_that_a_plugin_replaced_is_back_when_the_plugin_goes(
    plugins: Path, client: httpx2.AsyncClient
):
    write(plugins, {"better.py": REPLACES})
    assert (await reload(client))["tools_changed"] == ["calculator"]
    assert (await client.get("/admin/tools/calculator")).json()["source"] == "plugin"
    (plugins / "better.py").unlink()
    assert (await reload(client))["tools_changed"] == ["calculator"]
    done = await call(client, "calculator", arguments={"expression": "6*7"})
    assert done["text"] == "42"


async def test_hooks_are_read_at_the_start_only(plugins: Path, client: httpx2.AsyncClient):
    write(plugins, {"gate.py": HOOK, **version("new")})
    refused = await problem(await client.post("/admin/plugins/reload"))
    assert "restart the service" in refused["detail"]
    assert await word(client) == "old"


async def test_what_the_old_code_said_is_not_served_from_the_cache(
    plugins: Path, client: httpx2.AsyncClient, serving: Running
):
    cache = serving.service.cache
    key, outcome = ("said", b"{}"), outcome_of("said")
    cache.put("ses_1", "scope", key, outcome, cache.epoch("scope"))
    begun = cache.epoch("scope")
    assert cache.get("ses_1", "scope", key) is outcome
    write(plugins, version("new"))
    await reload(client)
    assert cache.get("ses_1", "scope", key) is None
    # A call of the old code that ends only now.
    cache.put("ses_1", "scope", key, outcome, begun)
    assert cache.get("ses_1", "scope", key) is None


async def test_only_an_administrator_reloads(plugins: Path, serving: Running):
    async with user(serving, "ann", "chat") as chatter:
        answer = await chatter.post("/admin/plugins/reload")
    assert answer.status_code == 403


async def test_the_command_says_what_has_changed_and_why_not(
    plugins: Path, serving: Running, tmp_path: Path
):
    async def run(*words: str) -> tuple[int, str]:
        done = await asyncio.to_thread(tollgate, tmp_path, *words, TOLLGATE_URL=serving.url)
        return done.returncode, done.stdout + done.stderr

    write(plugins, version("new"))
    code, said = await run("plugins", "reload")
    assert (code, said) == (0, "plugins loaded: slow\ntools changed: slow, said\n")
    assert await run("plugins", "reload") == (0, "No changes.\n")
    write(plugins, {"slow/__init__.py": "import no_such_module_here\n"})
    code, said = await run("plugins", "reload")
    assert code == 1
    assert "slow/__init__.py:1: ModuleNotFoundError" in said
    assert "Install the package that provides no_such_module_here" in said
