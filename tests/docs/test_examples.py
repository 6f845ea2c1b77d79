"""Every example runs, as a reader would run it."""

from __future__ import annotations

import asyncio
import json
import os
import sys

import pytest

from tests.docs.conftest import TOKEN
from tests.support.binaries import require_binary
from tests.support.http import HttpClient
from tests.support.source import ROOT

EXAMPLES = ROOT / "examples"


async def run(*command: str, **environment: str) -> str:
    """What a command prints; it must succeed without a word of complaint."""
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TOLLGATE_TOKEN": TOKEN, **environment},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, complaints = await process.communicate()
    assert (process.returncode, complaints.decode()) == (0, ""), out.decode()
    return out.decode()


@pytest.fixture
async def client(url):
    headers = {"authorization": f"Bearer {TOKEN}"}
    async with HttpClient(base_url=url, headers=headers) as client:
        yield client


@pytest.fixture
def notes(settings):
    workspace = settings.data_dir / "workspace"
    workspace.mkdir(parents=True)
    (workspace / "notes.txt").write_text("one two\nthree\n", encoding="utf-8")
    (workspace / ".secret").write_text("hidden\n", encoding="utf-8")


async def test_the_websocket_client_prints_a_call_from_its_start_to_its_end(url):
    printed = await run(sys.executable, str(EXAMPLES / "websocket_client.py"), url)
    lines = [line.split(maxsplit=2) for line in printed.splitlines()]
    kinds = [kind for _, kind, _ in lines]
    order = ["ready", "subscribed", "run_started", "tool_call_started", "tool_call_completed"]
    assert [kind for kind in kinds if kind in order] == order
    assert kinds[-1] == "run_finished"
    output = "".join(text for _, kind, text in lines if kind == "tool_result_streamed")
    assert "hello" in output
    assert "world" in output
    durable = [int(seq) for seq, _, _ in lines if seq != "-"]
    assert durable == list(range(1, len(durable) + 1))


async def test_the_websocket_client_can_be_run_again_at_once(url):
    for _ in range(2):
        printed = await run(sys.executable, str(EXAMPLES / "websocket_client.py"), url)
        assert printed.splitlines()[-1].split()[1] == "run_finished", printed


async def test_the_curl_example_gets_the_answer(url):
    require_binary("curl")
    printed = await run("sh", str(EXAMPLES / "call_a_tool.sh"), TOLLGATE_URL=url)
    answer = json.loads(printed)
    assert (answer["status"], answer["tool_name"]) == ("success", "calculator")
    assert answer["text"] == "42"
    assert (answer["record"]["result"], answer["raw_result"]) == (None, None)


async def test_the_governing_example_makes_an_agent_and_a_rule_that_count(url, client):
    require_binary("curl")
    printed = await run("sh", str(EXAMPLES / "govern.sh"), TOLLGATE_URL=url)
    agent, rule, judged, resolved, audit, check = map(json.loads, printed.splitlines())
    assert (agent["profile"]["id"], rule["state"]) == ("reader", "active")
    assert judged["decision"]["verdict"] == "deny"
    assert resolved["disabled_reasons"]["write_file"]["code"] == "not_selected"
    assert [row["kind"] for row in audit["rows"]] == ["governance.rule", "governance.agent"]
    assert check["ok"] is True
    call = {"arguments": {"command": "git push"}}
    refused = (await client.post("/api/v1/tools/bash/call", json=call)).json()
    assert (refused["status"], refused["code"]) == ("denied", "denied_by_rule")


async def test_the_example_tool_works_as_a_plugin(notes, client):
    answer = await client.post(
        "/api/v1/tools/word_count/call", json={"arguments": {"path": "notes.txt"}}
    )
    assert answer.json()["status"] == "success"
    assert json.loads(answer.json()["text"]) == {"lines": 2, "words": 3, "bytes": 14}


async def test_the_example_hook_guards_its_tool(notes, client):
    address = "/api/v1/tools/first_line/call"
    open_file = await client.post(address, json={"arguments": {"path": "notes.txt"}})
    assert (open_file.json()["status"], open_file.json()["text"]) == ("success", "one two")
    hidden = await client.post(address, json={"arguments": {"path": ".secret"}})
    assert (hidden.json()["status"], hidden.json()["text"]) == (
        "denied",
        "Hidden files are private",
    )


async def test_no_example_plugin_is_broken(client):
    listed = (await client.get("/api/v1/tools")).json()
    assert listed["problems"] == []
    plugins = {row["name"] for row in listed["tools"] if row["source"] == "plugin"}
    assert plugins == {"first_line", "tally", "word_count"}


async def test_the_example_test_passes():
    printed = await run(
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "examples/test_word_count.py",
    )
    assert "1 passed" in printed
