"""What must not get out, and what a model must not put in."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from pydantic import Field, SecretStr

from app.config.settings import Settings
from app.core.redaction import MASK
from app.execution.calls import CallRequest
from app.governance.agents import AgentProfile
from app.toolkit.result import RawResult, ToolResult
from app.toolkit.tool import ToolArgs
from tests.execution.lab import AnyArgs, Lab, bare_lab, made

TOKEN = "tg_0123456789abcdef"
KEY = "sk-ant-very-secret"


class LoginArgs(ToolArgs):
    user: str = ""
    password: str = ""
    nested: dict[str, Any] = Field(default_factory=dict)


@pytest.fixture
async def vault(settings: Settings) -> AsyncIterator[Lab]:
    secrets = {"token": SecretStr(TOKEN), "anthropic_api_key": SecretStr(KEY)}
    async with bare_lab(settings.model_copy(update=secrets)) as lab:
        yield lab


async def everything(lab: Lab) -> str:
    """All that clients were sent and all that lies in the data directory."""
    frames = b"".join(frame.body for frame in lab.watcher.frames).decode()
    rows = [await lab.rows(f"SELECT * FROM {table}") for table in ("tool_calls", "events")]
    folder = lab.runtime.settings.data_dir
    files = [
        path.read_text(encoding="utf-8")
        for name in ("artifacts", "operations")
        for path in (folder / name).rglob("*")
        if path.is_file()
    ]
    return frames + str(rows) + "".join(files)


@pytest.mark.requirement("D-24")
async def test_the_service_s_secrets_leave_in_no_event_row_result_or_file(vault: Lab):
    async def leaks(args: AnyArgs, ctx: Any) -> ToolResult:
        await ctx.progress("reading", f"with {TOKEN}")
        data = {"key": KEY, KEY: [TOKEN, {"deep": f"a{TOKEN}b"}]}
        return ToolResult.ok(data, text=f"it is {TOKEN}", raw_result=RawResult("json", data))

    async def fails(args: AnyArgs, ctx: Any) -> ToolResult:
        raise RuntimeError(f"401 for {KEY}")

    vault.add(made(leaks), made(fails))
    outcome = await vault.call("leaks", "c1", text=f"use {TOKEN}")
    failed = await vault.call("fails", "c2")
    assert outcome.text == f"it is {MASK}"
    assert MASK in str(failed.result.error)
    seen = await everything(vault)
    assert TOKEN not in seen
    assert KEY not in seen
    assert vault.watcher.of("tool_call_started")[0]["redacted"] == ["text"]


@pytest.mark.requirement("D-24")
async def test_a_child_process_does_not_see_the_service_s_secrets(
    house: Lab, monkeypatch: pytest.MonkeyPatch
):
    for name in ("TOLLGATE_TOKEN", "ANTHROPIC_API_KEY", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, KEY)
    outcome = await house.call("bash", command="echo begin; printenv")
    assert outcome.text.startswith("begin")
    assert "PATH=" in outcome.text
    assert KEY not in outcome.text


@pytest.mark.parametrize("cut", [1, 5, len(TOKEN) - 1])
async def test_a_secret_printed_in_two_pieces_is_masked_too(vault: Lab, cut: int):
    async def prints(args: AnyArgs, ctx: Any):
        yield "x" * 30_000
        yield TOKEN[:cut]
        yield TOKEN[cut:] + " and " + KEY[:4]
        yield "-done"

    vault.add(made(prints, max_output_chars=2000))
    outcome = await vault.call("prints")
    assert outcome.text.endswith(f"{MASK} and {KEY[:4]}-done")
    streamed = "".join(e["text"] for e in vault.watcher.of("tool_result_streamed"))
    assert streamed == "x" * 30_000 + f"{MASK} and {KEY[:4]}-done"
    assert TOKEN not in await everything(vault)


SENT = [
    {"user": "ann", "password": "hunter2x"},
    '{"user": "ann", "password": "hunter2x"}',
    '{"user": "ann", "password": "hunter2x", "extra": 1}',
    '{"user": "ann", "password": "hunter2x',
    {"nested": {"apiKey": "hunter2x", "db_password": ["hunter2x"], "token": {"v": "hunter2x"}}},
    {"nested": {"accessToken": "hunter2x", "a": [{"client_secret": "hunter2x"}]}},
]


@pytest.mark.parametrize("name", ["login", "nope"])
@pytest.mark.parametrize("arguments", SENT, ids=str)
async def test_what_a_telling_key_holds_is_in_no_event_and_no_row(
    vault: Lab, name: str, arguments: Any
):
    async def login(args: LoginArgs, ctx: Any) -> str:
        return "welcome"

    vault.add(made(login))
    await vault.run(CallRequest("c1", name, arguments))
    assert "hunter2x" not in await everything(vault)
    shown = vault.watcher.of("tool_call_started")[0]["args"]
    assert MASK in json.dumps(shown, ensure_ascii=False)


@pytest.mark.parametrize("before", ["", "run_", "x" * (128 - len(TOKEN) // 2)], ids=len)
async def test_a_secret_in_the_name_of_no_tool_is_masked_also_where_the_name_is_cut(
    vault: Lab, before: str
):
    outcome = await vault.call(before + TOKEN)
    assert outcome.result.code == "tool_not_found"
    seen = await everything(vault) + str(outcome) + str(await vault.rows("SELECT * FROM audit"))
    reported = seen.replace(repr(outcome.request), "")
    assert TOKEN[: len(TOKEN) // 2] not in reported


async def test_what_is_reported_about_arguments_that_do_not_fit_holds_no_secret(vault: Lab):
    async def login(args: LoginArgs, ctx: Any) -> str:
        return "ok"

    vault.add(made(login))
    (outcome,) = await vault.run(CallRequest("c1", "login", {TOKEN: 1}))
    assert outcome.status == "invalid_arguments"
    seen = await everything(vault) + str(outcome.result)
    assert "extra_forbidden" in seen
    assert TOKEN[: len(TOKEN) // 2] not in seen


async def test_a_tool_gets_its_arguments_as_they_were_sent(vault: Lab):
    got: list[LoginArgs] = []

    async def login(args: LoginArgs, ctx: Any) -> str:
        got.append(args)
        return "ok"

    vault.add(made(login))
    await vault.call("login", password="hunter2x", user=TOKEN)
    assert (got[0].password, got[0].user) == ("hunter2x", TOKEN)


@pytest.mark.requirement("CTX-05")
@pytest.mark.parametrize("forged", ["project_id", "session_id", "user_id", "_project_id", "ctx"])
async def test_a_value_of_the_context_cannot_be_forged(house: Lab, tmp_path, forged: str):
    other = tmp_path / "other"
    other.mkdir()
    (other / "a.txt").write_text("theirs", encoding="utf-8")
    house.runtime.projects.mount("other", other)
    await house.context["project"].operations.files.write("a.txt", b"ours")
    outcome = await house.call("read_file", path="a.txt", **{forged: "other"})
    assert outcome.status == "invalid_arguments"
    assert "theirs" not in str(house.watcher.events)


@pytest.mark.requirement("CTX-02", "CTX-10", "B-14")
async def test_context_reaches_the_tool_and_stands_in_no_schema(lab: Lab, house: Lab):
    seen: list[Any] = []

    async def look(args: AnyArgs, ctx: Any) -> str:
        seen.append((ctx.session_id, ctx.user_id, ctx.agent_id, dict(ctx.business), ctx.project_id))
        return "x"

    lab.add(made(look))
    await lab.runtime.agents.create(AgentProfile(id="writer"), actor="ann")
    await lab.run(
        CallRequest("c1", "look", {}),
        user_id="ann",
        agent_id="writer",
        business={"channelId": "c-7"},
    )
    assert seen == [(lab.session.id, "ann", "writer", {"channelId": "c-7"}, None)]
    for tool in house.runtime.registry.snapshot().tools.values():
        assert {"project_id", "session_id", "user_id", "agent_id"}.isdisjoint(
            tool.parameters["properties"]
        )


@pytest.mark.requirement("CTX-06")
async def test_a_file_tool_without_a_project_is_refused_and_touches_nothing(house: Lab):
    requests = [
        CallRequest("c1", "write_file", {"path": "a.txt", "content": "x"}),
        CallRequest("c2", "read_file", {"path": "a.txt"}),
        CallRequest("c3", "file_read", {"path": "a.txt"}),
    ]
    outcomes = await house.run(*requests, project=None)
    assert {(outcome.status, outcome.result.error) for outcome in outcomes} == {
        ("error", "project_id is required for file operations")
    }
    assert list(house.runtime.settings.workspace_dir.iterdir()) == []
