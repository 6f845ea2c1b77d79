"""What administrators see of hooks and limits."""

from __future__ import annotations

from pathlib import Path

import httpx2
import pytest

from app.config.sections import HookSettings, LimitSettings
from app.config.settings import Settings
from app.governance.agents import AgentProfile
from app.governance.limits import Limits
from tests.api.rest.client import call
from tests.support.http import HttpClient
from tests.support.service import Running, settings_for


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    hooks = [
        HookSettings(name="deny", event="pre_tool_use", matcher="exec", command="exit 2"),
        HookSettings(name="lost", event="tool_error", matcher="no_such_tool", command="true"),
    ]
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "guard.py").write_text("HOOKS = [")
    return settings_for(
        tmp_path,
        anthropic_api_key=None,
        hooks=hooks,
        broken_hook_plugins="report",
        limits=LimitSettings(calls_per_minute=3, cost_per_session=1),
    )


async def test_hooks_are_listed_with_what_they_did_and_what_is_missing(client: httpx2.AsyncClient):
    refused = await call(client, "bash", arguments={"command": "true"})
    listed = (await client.get("/admin/hooks")).json()

    assert (refused["status"], refused["text"]) == ("denied", "Denied by hook 'deny'")
    hooks = {(hook["name"], hook["event"]): hook for hook in listed["hooks"]}
    deny, lost = hooks["deny", "pre_tool_use"], hooks["lost", "tool_error"]
    assert (deny["tools"], deny["matcher"], deny["origin"]) == (["bash"], "exec", "configuration")
    assert (deny["calls"], deny["denies"], deny["failures"]) == (1, 1, 0)
    assert deny["p50_ms"] == deny["p99_ms"] > 0
    assert (lost["tools"], lost["p50_ms"]) == ([], None)
    built_in = hooks["confirm_dangerous_operations", "pre_tool_use"]
    assert (built_in["origin"], built_in["matcher"]) == ("built-in", None)
    (missing,) = listed["missing"]
    reported = (missing["name"], missing["code"], missing["is_shut"])
    assert reported == ("guard", "plugin_syntax", False)


async def test_limits_are_shown_with_their_use(client: httpx2.AsyncClient, serving: Running):
    runtime = serving.service.runtime
    priced = AgentProfile(id="coder", model="m", limits=Limits(cost_per_session=2, concurrent=1))
    await runtime.agents.create(priced, actor="local")
    for number in range(4):
        answer = await call(client, "calculator", arguments={"expression": f"{number}+1"})
    shown = (await client.get("/admin/limits")).json()

    assert answer["status"] == "denied"
    assert shown["defaults"] == {"calls_per_minute": 3, "cost_per_session": 1}
    assert shown["agents"] == {"coder": {"concurrent": 1, "cost_per_session": 2}}
    assert shown["hits"] == {"rate_limited": 1}
    counter = {"scope": "user", "id": "local", "calls_left": 0, "running": 0, "waiting": 0}
    assert shown["counters"] == [counter]
    assert len(shown["problems"]) == 2
    assert shown["problem_codes"] == ["limit_no_price"] * 2


async def test_a_token_s_limits_hold_for_who_comes_with_it(serving: Running):
    secret, token = await serving.service.tokens.create(
        "ann", ("tools:call",), limits=Limits(calls_per_minute=1)
    )
    headers = {"authorization": f"Bearer {secret}"}
    async with HttpClient(base_url=serving.api, headers=headers) as ann:
        ended = [
            await call(ann, "calculator", arguments={"expression": f"{number}+1"})
            for number in range(2)
        ]
    keys = {usage.key for usage in serving.service.limits.store.usage()}

    assert [answer["status"] for answer in ended] == ["success", "denied"]
    assert keys == {f"token:{token.id}"}
