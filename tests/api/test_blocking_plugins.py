"""A plugin that blocks a served service is stopped, and the doctor and the figures name it."""

from __future__ import annotations

from pathlib import Path

from tests.support.http import HttpClient
from tests.support.server_process import server

PLUGIN = """
import time
from app.catalog.seed_api import register
from app.execution.hooks.model import HookConfig, HookType

async def sleepy(arguments):
    time.sleep(600)

async def endless(context):
    while True:
        pass

register("sleepy", sleepy, "Sleeps on the loop.", {})
HOOKS = [HookConfig("endless", HookType.PRE_TOOL_USE, endless, frozenset({"calculator"}))]
"""


async def test_a_tool_and_a_hook_that_block_are_stopped_and_named(tmp_path: Path):
    plugins = tmp_path / "plugins"
    plugins.mkdir()
    (plugins / "slow.py").write_text(PLUGIN)
    async with server(tmp_path, {"TOLLGATE_PLUGIN_DIR": str(plugins)}) as running:
        async with HttpClient(base_url=f"{running.url}/api/v1", timeout=120) as client:
            slept = (await client.post("/tools/sleepy/call", json={})).json()
            given = {"arguments": {"expression": "1+1"}}
            gated = (await client.post("/tools/calculator/call", json=given)).json()
        assert slept["status"] == "timeout"
        assert "tool sleepy blocked the whole service" in slept["text"]
        assert (gated["status"], gated["code"]) == ("denied", "hook_failed")
        assert (await running.get("/health"))["status"] == "ok"
        found = [c for c in (await running.get("/admin/doctor"))["checks"] if c["code"] == "loop"]
        assert {check["values"]["culprit"] for check in found} == {"tool sleepy", "hook endless"}
        assert all(f"{plugins / 'slow.py'}:" in check["found"] for check in found)
        assert all("asyncio.to_thread" in check["fix"] for check in found)
