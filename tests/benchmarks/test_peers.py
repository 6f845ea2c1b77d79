"""`python -m benchmarks.peers`: Tollgate's side, with programs in place of the frameworks."""

import ast
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.peers import environment
from benchmarks.peers.__main__ import BENCHMARKS, main
from benchmarks.peers.network import BENCHMARKS as OVER_NETWORK

PROGRAMS = environment.PROGRAMS
# Adds like the frameworks, and says how often it was asked.
IN_PROCESS = """\
import json, sys
print('{"ready": true}', flush=True)
for line in sys.stdin:
    order = json.loads(line)
    print(json.dumps({"cpu": 1000.0 * order["turns"]}), flush=True)
"""
# The bare application of the benchmarks, which has a route of the name that MCP uses.
SERVERS = """\
import socket, sys, threading, time, json, uvicorn, os, signal
from fastapi import FastAPI, Request
app = FastAPI()
@app.post("/mcp")
async def call(request: Request):
    asked = await request.json()
    assert asked["params"]["arguments"]["tags"] == ["x", "y"]
    assert request.headers["mcp-name"] == asked["params"]["name"]
    return {"result": {"isError": False}}
listener = socket.create_server(("127.0.0.1", 0))
def listen():
    for line in sys.stdin:
        print(json.dumps({"cpu": time.process_time()}), flush=True)
    os.kill(os.getpid(), signal.SIGTERM)
threading.Thread(target=listen, daemon=True).start()
url = f"http://127.0.0.1:{listener.getsockname()[1]}"
print(json.dumps({"url": url, "session_id": ""}), flush=True)
uvicorn.Server(uvicorn.Config(app, log_config=None)).run(sockets=[listener])
"""


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "in_process.py").write_text(IN_PROCESS)
    (tmp_path / "servers.py").write_text(SERVERS)
    monkeypatch.setattr(environment, "PROGRAMS", tmp_path)
    monkeypatch.setenv("PEERS_PYTHON", sys.executable)
    environment.interpreter.cache_clear()
    yield
    environment.interpreter.cache_clear()


@pytest.mark.usefixtures("programs")
def test_calls_turns_and_requests_are_held_against_another_program(
    capsys: pytest.CaptureFixture[str],
):
    names = ["dispatch_mcp", "turn_10_langgraph", "rest_mcp"]
    assert main([*names, "--smoke", "--json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["name"] for line in lines] == names
    assert [line["floor_us"] for line in lines[:2]] == [1000, 10_000]
    assert all(line["subject_us"] > 0 for line in lines)


def test_without_the_frameworks_a_line_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("PEERS_PYTHON", "/nonexistent/python")
    environment.interpreter.cache_clear()
    assert main(["dispatch_mcp", "--smoke"]) == 1
    said = "dispatch_mcp: skipped, PEERS_PYTHON: /nonexistent/python does not exist"
    assert said in capsys.readouterr().out


def test_every_line_has_its_program():
    in_process = _functions("in_process.py")
    lines = [one for one in BENCHMARKS if one.names[0].startswith(("dispatch_", "turn_"))]
    for line in lines:
        kind, _, peer = line.names[0].partition("_")
        name = f"{peer}_call" if kind == "dispatch" else f"{peer.partition('_')[2]}_turns"
        assert name in in_process
    assert {"mcp", "fastmcp", "socketio"} <= _functions("servers.py")
    assert OVER_NETWORK


def _functions(program: str) -> set[str]:
    tree = ast.parse((PROGRAMS / program).read_bytes())
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {node.name for node in tree.body if isinstance(node, kinds)}
