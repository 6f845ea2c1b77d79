"""Bare tool call in each installed framework, run in a separate interpreter.

Prints one line of JSON per framework: `{name, subject, floor, runs}` in µs of CPU per call. Subject
and floor (a TypedDict validated from JSON, one await) alternate in this process. Nothing here
governs or records.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

ARGUMENTS = {"a": 1, "b": 2, "tags": ["x", "y"]}
RAW = json.dumps(ARGUMENTS)
Call = Callable[[], Awaitable[Any]]


async def add(a: int, b: int, tags: list[str]) -> dict[str, int]:
    """Add two numbers."""
    return {"sum": a + b, "tags": len(tags)}


def _load(name: str) -> Any:
    return importlib.import_module(name)


async def pydantic_ai_manager() -> Call:
    """Pydantic AI: `ToolManager.handle_call`."""
    toolset = _load("pydantic_ai.toolsets").FunctionToolset([add])
    context = _load("pydantic_ai").RunContext(
        deps=None,
        model=_load("pydantic_ai.models.test").TestModel(),
        usage=_load("pydantic_ai.usage").RunUsage(),
    )
    try:
        module = _load("pydantic_ai.tool_manager")
    except ImportError:
        module = _load("pydantic_ai._tool_manager")
    manager = await module.ToolManager(toolset).for_run_step(context)
    part = _load("pydantic_ai.messages").ToolCallPart
    return lambda: manager.handle_call(part("add", RAW, "call_1"))


async def openai_agents_invoke() -> Call:
    """OpenAI Agents SDK: `invoke_function_tool`."""
    module = _load("agents.tool")
    made = module.function_tool(add)
    context = _load("agents.tool_context").ToolContext(
        context=None, tool_name="add", tool_call_id="call_1", tool_arguments=RAW
    )
    return lambda: module.invoke_function_tool(function_tool=made, context=context, arguments=RAW)


async def fastmcp_server() -> Call:
    """FastMCP: `server.call_tool`, without a transport."""
    server = _load("fastmcp").FastMCP("bench")
    server.tool(add)
    return lambda: server.call_tool("add", ARGUMENTS)


async def langgraph_node() -> Call:
    """LangGraph: a graph of one `ToolNode`."""
    made = _load("langchain_core.tools").tool(add)
    graph = _load("langgraph.graph")
    builder = graph.StateGraph(graph.MessagesState)
    builder.add_node("tools", _load("langgraph.prebuilt").ToolNode([made]))
    builder.add_edge(graph.START, "tools")
    compiled = builder.compile()
    calls = [{"name": "add", "args": ARGUMENTS, "id": "call_1"}]
    message = _load("langchain_core.messages").AIMessage("", tool_calls=calls)
    return lambda: compiled.ainvoke({"messages": [message]})


def _floor() -> Call:
    adapter = _load("pydantic").TypeAdapter
    shape = _load("typing_extensions").TypedDict("Add", {"a": int, "b": int, "tags": list[str]})
    validate = adapter(shape).validator.validate_json

    async def call() -> dict[str, int]:
        return await add(**validate(RAW))

    return call


PEERS: dict[str, tuple[Callable[[], Awaitable[Call]], int]] = {
    "peer_pydantic_ai": (pydantic_ai_manager, 2000),
    "peer_openai_agents": (openai_agents_invoke, 1000),
    "peer_fastmcp": (fastmcp_server, 300),
    "peer_langgraph": (langgraph_node, 80),
}


async def _time(call: Call, count: int) -> float:
    began = time.process_time()
    for _ in range(count):
        await call()
    return (time.process_time() - began) / count * 1e6


async def measure(name: str, rounds: int, share: float) -> dict[str, Any]:
    """Return the median of `rounds` turns."""
    build, full = PEERS[name]
    subject, floor, count = await build(), _floor(), max(2, round(full * share))
    await _time(subject, max(2, count // 10))
    turns = [(await _time(subject, count), await _time(floor, count * 10)) for _ in range(rounds)]
    subjects, floors = zip(*turns, strict=True)
    return {
        "name": name,
        "subject": statistics.median(subjects),
        "floor": statistics.median(floors),
        "runs": rounds,
    }


def main() -> None:
    """Handle `peer_calls.py NAME ROUNDS SHARE`."""
    name, rounds, share = sys.argv[1:4]
    print(json.dumps(asyncio.run(measure(name, int(rounds), float(share)))))


if __name__ == "__main__":
    main()
