"""Previews: the tools and prompt of an agent, and the risk of a command."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, Literal

from fastapi import Query
from pydantic import BaseModel, Field

from app.api.deps import Admin, ServiceDep
from app.api.errors import problems
from app.api.rest.admin.crud import After, Limit
from app.api.rest.admin.diagnostics import DIAGNOSTIC, REASON, Reason, RuntimeDiagnostic
from app.api.rest.body import Body
from app.api.rest.examples import example
from app.api.rest.routing import routes_of
from app.core.errors import NotFound
from app.policy.risk.assess import assess_command
from app.policy.risk.report import report_json

router = routes_of("admin", below="/admin")

MAX_COMMAND = 200_000
_TOOL: dict[str, Any] = {"name": "calculator", "description": "Compute.", "parameters": {}}

_PART: dict[str, Any] = {
    "name": "identity",
    "place": "shared",
    "tokens": 12,
    "text": "You are an assistant working through Tollgate …",
}


class TokenFigures(BaseModel):
    """Estimated tokens of every request of the agent before its first message."""

    model_config = example(schemas=2200, prompt=120, total=2320)

    schemas: int = Field(description="Definitions of the listed tools.")
    prompt: int = Field(description="The system prompt.")
    total: int


class PromptPartView(BaseModel):
    """Part of the prompt."""

    model_config = example(**_PART)

    name: str
    place: Literal["shared", "session", "request"] = Field(
        description="Whether it is cached for all sessions of the agent, for the session, or not "
        "at all."
    )
    tokens: int = Field(description="Estimated tokens.")
    text: str


class Resolved(BaseModel):
    """Resolved toolset of an agent: every tool is in `tool_names` or has a reason."""

    model_config = example(
        agent_id="writer",
        subagent=False,
        tool_names=["calculator"],
        prompt_hints={},
        manifest=[_TOOL],
        routes={"bash": "disabled", "calculator": "worker-local"},
        disabled_reasons={"bash": REASON},
        visible=["calculator"],
        deferred=[],
        system_prompt="You are an assistant working through Tollgate …",
        prompt_parts=[_PART],
        tokens={"schemas": 120, "prompt": 120, "total": 240},
        runtime_diagnostic=DIAGNOSTIC,
    )

    agent_id: str | None
    subagent: bool
    tool_names: list[str]
    prompt_hints: dict[str, str]
    manifest: list[dict[str, Any]]
    routes: dict[str, str]
    disabled_reasons: dict[str, Reason]
    visible: list[str] = Field(description="Tools listed to the model, in order.")
    deferred: list[str] = Field(description="Tools that the model finds with `search_tools`.")
    system_prompt: str = Field(description="As the model receives it, outside a project.")
    prompt_parts: list[PromptPartView] = Field(
        description="In order; parts with place `request` follow the last message."
    )
    tokens: TokenFigures
    runtime_diagnostic: RuntimeDiagnostic


_STATE: dict[str, Any] = {"name": "bash", "state": "off", "reason": REASON, "asks_by": None}


class ToolStateView(BaseModel):
    """Effective state of one tool for one agent."""

    model_config = example(**_STATE)

    name: str
    state: Literal["on", "asks", "off"]
    reason: Reason | None = Field(description="Null if the tool is available.")
    asks_by: Literal["tool", "operator", "agent", "sandbox"] | None


class AgentToolStates(BaseModel):
    """Effective state of every tool for one agent."""

    model_config = example(agent_id="writer", tools=[_STATE])

    agent_id: str
    tools: list[ToolStateView]


class ToolStatePage(BaseModel):
    """Effective states of tools, by agent."""

    model_config = example(
        agents=[{"agent_id": "writer", "tools": [_STATE]}], total=1, next_after=None
    )

    agents: list[AgentToolStates]
    total: int
    next_after: str | None = Field(default=None, description="Cursor: `after` of the next page.")


class RiskQuestion(Body):
    """A command to classify without running it."""

    model_config = example(  # noqa: S604 - `shell` is a field, nothing is started here
        command="cd build && rm -rf .", shell="bash", cwd="/workspace"
    )

    command: str = Field(max_length=MAX_COMMAND)
    shell: Literal["bash", "powershell", "cmd"] = "bash"
    cwd: str = Field(default="/workspace", min_length=1, max_length=4096)


class RiskFinding(BaseModel):
    """Reason not to run the command without approval."""

    code: str
    segment: int | None
    why: str


class RiskExplained(BaseModel):
    """Analysis of a command and its segments."""

    model_config = example(
        verdict="ask",
        risk="high",
        segments=[{"argv": ["rm", "-rf", "."], "text": "rm -rf .", "cwd": "/workspace/build"}],
        findings=[{"code": "delete", "segment": 0, "why": "deletes files"}],
        resolved_targets=["/workspace/build"],
    )

    verdict: Literal["safe", "ask", "deny"]
    risk: Literal["low", "medium", "high", "critical"]
    segments: list[dict[str, Any]]
    findings: list[RiskFinding]
    resolved_targets: list[str]


@router.get(
    "/toolset",
    summary="Preview an agent's tools and prompt",
    responses=problems(NotFound),
)
async def preview_toolset(
    service: ServiceDep,
    principal: Admin,
    agent_id: Annotated[
        str | None,
        Query(max_length=128, description="ID of the agent; omit it to resolve without an agent."),
    ] = None,
    subagent: Annotated[bool, Query(description="Resolve for one of its sub-agents.")] = False,  # noqa: FBT002 - a query parameter
) -> Resolved:
    """Scope `admin`. Every tool is in `tool_names` or has a reason in `disabled_reasons`."""
    return Resolved(**await service.toolset_preview.of(agent_id, subagent=subagent))


@router.get("/tool-states", summary="List the states of tools for each agent", responses=problems())
async def list_tool_states(
    service: ServiceDep, principal: Admin, limit: Limit = 100, after: After = None
) -> ToolStatePage:
    """Scope `admin`. `GET /admin/toolset` has the details of one agent."""
    agent_ids = sorted(service.governance.snapshot.agents)
    rest = [agent_id for agent_id in agent_ids if after is None or agent_id > after]
    page: list[AgentToolStates] = []
    for agent_id in rest[:limit]:
        resolved = service.resolver.resolve(agent_id)
        tools = [
            ToolStateView(**{name: row[name] for name in ToolStateView.model_fields})
            for row in resolved.runtime_diagnostic["tools"]
        ]
        page.append(AgentToolStates(agent_id=agent_id, tools=tools))
        # Resolving an agent for the first time takes milliseconds.
        await asyncio.sleep(0)
    return ToolStatePage(
        agents=page,
        total=len(agent_ids),
        next_after=rest[limit - 1] if len(rest) > limit else None,
    )


@router.post("/risk/explain", summary="Classify a command", responses=problems(body=True))
async def explain_risk(body: RiskQuestion, service: ServiceDep, principal: Admin) -> RiskExplained:
    """Scope `admin`. Analyzes the command without running it, and returns its findings.

    Rules and grants are not applied: they build on this analysis.
    """
    report = assess_command(body.command, shell=body.shell, cwd=body.cwd)
    return RiskExplained(**report_json(report))
