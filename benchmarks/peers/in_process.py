"""A tool call and an agent turn, Tollgate's beside those of other frameworks.

Tollgate's call is governed and recorded; no peer does either.
"""

from __future__ import annotations

from functools import partial

from benchmarks import agent_turns, dispatch
from benchmarks.harness import Benchmark, Compared, Result, Scale, run
from benchmarks.peers.environment import measuring_peer

# Calls of one measurement: a second or less each.
_CALLS = {"pydantic_ai": 4000, "openai_agents": 2000, "mcp": 2000, "fastmcp": 600, "langgraph": 200}
_LOOPS = ("langgraph", "pydantic_ai", "openai_agents")
_LENGTHS = (agent_turns.FEW, agent_turns.MANY)


async def _call(peer: str, scale: Scale) -> Compared:
    count = scale.count(_CALLS[peer])
    async with measuring_peer(f"{peer}_call", count=count) as other:
        return await dispatch.compare(dispatch.ADD, scale, other)


async def _turn(peer: str, turns: int, scale: Scale) -> Compared:
    count = agent_turns.number_of_runs(turns, scale)
    async with measuring_peer(f"{peer}_turns", count=count, turns=turns) as other:
        return await agent_turns.compare(turns, scale, other)


def _measured_call(peer: str, scale: Scale) -> list[Result]:
    return [run(_call(peer, scale)).result(f"dispatch_{peer}", "CPU us/call")]


def _measured_turn(peer: str, turns: int, scale: Scale) -> list[Result]:
    return [run(_turn(peer, turns, scale)).result(f"turn_{turns}_{peer}", "CPU us/turn")]


BENCHMARKS = (
    *(
        Benchmark(
            (f"dispatch_{peer}",),
            f"a governed, recorded call of add(a, b, tags); peer: a bare call in {peer}",
            partial(_measured_call, peer),
        )
        for peer in _CALLS
    ),
    *(
        Benchmark(
            (f"turn_{turns}_{peer}",),
            f"a turn of a run of {turns} turns, the model a script; peer: {peer}",
            partial(_measured_turn, peer, turns),
        )
        for peer in _LOOPS
        for turns in _LENGTHS
    ),
)
