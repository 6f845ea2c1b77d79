"""Tool calls and agent turns of other frameworks, in the peers' interpreter.

    in_process.py NAME

Prints `{"ready": true}`. Then each line of input, `{"count": n, "turns": t}`, is one measurement:
`n` calls, or `n` runs of `t` turns. Its output is `{"cpu": µs}` for one call or turn. No peer
governs or records a call.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

ARGUMENTS = {"a": 1, "b": 2, "tags": ["x", "y"]}
RAW = json.dumps(ARGUMENTS)
Work = Callable[[int], Awaitable[Any]]


async def add(a: int, b: int, tags: list[str]) -> dict[str, int]:
    """Add two numbers."""
    return {"sum": a + b, "tags": len(tags)}


def _load(name: str) -> Any:
    return importlib.import_module(name)


async def pydantic_ai_call() -> Work:
    """`ToolManager.handle_call`."""
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
    return lambda _: manager.handle_call(part("add", RAW, "call_1"))


async def openai_agents_call() -> Work:
    """`invoke_function_tool`."""
    module = _load("agents.tool")
    made = module.function_tool(add)
    context = _load("agents.tool_context").ToolContext(
        context=None, tool_name="add", tool_call_id="call_1", tool_arguments=RAW
    )
    invoke = module.invoke_function_tool
    return lambda _: invoke(function_tool=made, context=context, arguments=RAW)


async def fastmcp_call() -> Work:
    """`FastMCP.call_tool`, without a transport."""
    server = _load("fastmcp").FastMCP("bench")
    server.tool(add)
    return lambda _: server.call_tool("add", ARGUMENTS)


async def mcp_call() -> Work:
    """`MCPServer.call_tool` of the MCP SDK, without a transport."""
    server = _load("mcp.server.mcpserver").MCPServer("bench")
    server.add_tool(add)
    return lambda _: server.call_tool("add", ARGUMENTS)


async def langgraph_call() -> Work:
    """A graph of one `ToolNode`."""
    graph, made = _load("langgraph.graph"), _load("langchain_core.tools").tool(add)
    builder = graph.StateGraph(graph.MessagesState)
    builder.add_node("tools", _load("langgraph.prebuilt").ToolNode([made]))
    builder.add_edge(graph.START, "tools")
    compiled = builder.compile()
    calls = [{"name": "add", "args": ARGUMENTS, "id": "call_1"}]
    message = _load("langchain_core.messages").AIMessage("", tool_calls=calls)
    return lambda _: compiled.ainvoke({"messages": [message]})


async def langgraph_turns() -> Work:
    """A graph of a model and a `ToolNode`; the model is a script."""
    graph, prebuilt = _load("langgraph.graph"), _load("langgraph.prebuilt")
    answer = _load("langchain_core.messages").AIMessage
    left = 0

    async def model(_: Any) -> dict[str, Any]:
        nonlocal left
        left -= 1
        calls = [{"name": "add", "args": ARGUMENTS, "id": f"call_{left}"}] if left >= 0 else []
        return {"messages": [answer("", tool_calls=calls)]}

    builder = graph.StateGraph(graph.MessagesState)
    builder.add_node("model", model)
    builder.add_node("tools", prebuilt.ToolNode([_load("langchain_core.tools").tool(add)]))
    builder.add_edge(graph.START, "model")
    builder.add_conditional_edges("model", prebuilt.tools_condition)
    builder.add_edge("tools", "model")
    compiled = builder.compile()

    async def run(turns: int) -> None:
        nonlocal left
        left = turns
        limit = {"recursion_limit": 2 * turns + 10}
        ended = await compiled.ainvoke({"messages": [("user", "go")]}, limit)
        expect(len(ended["messages"]) == 2 * turns + 2)

    return run


async def pydantic_ai_turns() -> Work:
    """`Agent.run` with a `FunctionModel`."""
    messages = _load("pydantic_ai.messages")
    left = 0

    async def model(_: Any, __: Any) -> Any:
        nonlocal left
        left -= 1
        if left < 0:
            return messages.ModelResponse([messages.TextPart("done")])
        return messages.ModelResponse([messages.ToolCallPart("add", RAW, f"call_{left}")])

    scripted = _load("pydantic_ai.models.function").FunctionModel(model)
    agent = _load("pydantic_ai").Agent(scripted, tools=[add])
    limits = _load("pydantic_ai.usage").UsageLimits(request_limit=None)

    async def run(turns: int) -> None:
        nonlocal left
        left = turns
        ended = await agent.run("go", usage_limits=limits)
        expect(ended.output == "done")

    return run


async def openai_agents_turns() -> Work:
    """`Runner.run` with a scripted `Model`, without tracing."""
    agents, answers = _load("agents"), _load("openai.types.responses")
    usage = _load("agents.usage").Usage
    left = 0

    def output() -> Any:
        if left >= 0:
            return answers.ResponseFunctionToolCall(
                arguments=RAW, call_id=f"call_{left}", name="add", type="function_call"
            )
        text = {"type": "output_text", "text": "done", "annotations": []}
        return answers.ResponseOutputMessage(
            id="m", content=[text], role="assistant", status="completed", type="message"
        )

    async def respond(*_: Any, **__: Any) -> Any:
        nonlocal left
        left -= 1
        return agents.ModelResponse(output=[output()], usage=usage(), response_id=None)

    # Made here, as its base class exists only where the framework is installed.
    kind = type("Script", (agents.Model,), {"get_response": respond, "stream_response": respond})
    agent = agents.Agent(name="bench", model=kind(), tools=[agents.function_tool(add)])
    quiet = agents.RunConfig(tracing_disabled=True)

    async def run(turns: int) -> None:
        nonlocal left
        left = turns
        ended = await agents.Runner.run(agent, "go", max_turns=turns + 2, run_config=quiet)
        expect(ended.final_output == "done")

    return run


PEERS: dict[str, Callable[[], Awaitable[Work]]] = {
    build.__name__: build
    for build in (
        *(pydantic_ai_call, openai_agents_call, fastmcp_call, mcp_call, langgraph_call),
        *(langgraph_turns, pydantic_ai_turns, openai_agents_turns),
    )
}


def expect(holds: bool) -> None:  # noqa: FBT001 - what is asserted
    """Raise if a run ended otherwise than scripted."""
    if not holds:
        raise RuntimeError("a run ended unexpectedly")


async def serve(name: str) -> None:
    """Measure for each order until the input ends."""
    work = await PEERS[name]()
    say({"ready": True})
    for line in sys.stdin:
        order = json.loads(line)
        count, turns = order["count"], order.get("turns", 1)
        began = time.process_time()
        for _ in range(count):
            await work(turns)
        say({"cpu": (time.process_time() - began) * 1e6 / (count * turns)})


def say(answer: dict[str, Any]) -> None:
    """Print one line for the measuring process."""
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1]))
