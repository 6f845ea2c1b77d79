"""Catalog, resolved toolset, and switch of each tool."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query
from pydantic import BaseModel, Field

from app.api.deps import Admin, Anyone, ServiceDep
from app.api.errors import problems
from app.api.principal import Principal
from app.api.rest.body import Body, PathId
from app.api.rest.examples import example
from app.api.rest.routing import routes_of
from app.api.service import Service
from app.catalog.catalog import PluginProblem, rows_of
from app.catalog.failures import NOT_LOADED
from app.catalog.formats import Format, render
from app.core.errors import Conflict, NotFound, ToolNotFound

router = routes_of("tools")

_ROW: dict[str, Any] = {
    "name": "calculator",
    "description": "Evaluate an arithmetic expression.",
    "category": "data",
    "parameters": {"type": "object", "properties": {"expression": {"type": "string"}}},
    "permission_class": "READ",
    "side_effect_scope": "NONE",
    "alias_of": None,
    "aliases": [],
    "enabled": True,
    "disabled_reason": None,
}


class ToolList(BaseModel):
    """Tools in one format; `problems` names plugins that could not be loaded."""

    model_config = example(format="native", tools=[_ROW], problems=[], generation=3)

    format: Format
    tools: list[dict[str, Any]] = Field(
        description="native: every tool and alias, with `enabled` and `disabled_reason`; openai "
        "and anthropic: definitions of the enabled tools."
    )
    problems: list[dict[str, str]] = Field(
        description="Each with `name`, `where`, `at` (file and line), `error`, `fix`, and `code`, "
        "the stable code of the problem."
    )
    generation: int = Field(description="Increases with every change of the catalog.")


class ToolView(BaseModel):
    """One tool, or an alias of it."""

    model_config = example(tool=_ROW)

    tool: dict[str, Any]


class ToolSwitch(Body):
    """New state of a tool."""

    model_config = example(enabled=False)

    enabled: bool


class Toolset(BaseModel):
    """Resolved toolset: every tool of the catalog is listed, or has a reason."""

    model_config = example(
        tool_names=["calculator"],
        prompt_hints={},
        manifest=[_ROW],
        routes={"bash": "disabled", "calculator": "worker-local"},
        disabled_reasons={
            "bash": {
                "code": "disabled_global",
                "message": "Tool 'bash' is disabled by an administrator",
                "layer": "global",
                "fix": "`tollgate tools enable bash`",
            }
        },
        runtime_diagnostic={"enabled": 1, "disabled": 1},
    )

    tool_names: list[str]
    prompt_hints: dict[str, str]
    manifest: list[dict[str, Any]]
    routes: dict[str, str]
    disabled_reasons: dict[str, dict[str, str]]
    runtime_diagnostic: dict[str, Any]


@router.get("/tools", summary="List tools", responses=problems())
async def list_tools(
    service: ServiceDep,
    principal: Anyone,
    form: Annotated[Format, Query(alias="format")] = "native",
    category: Annotated[str | None, Query(max_length=64)] = None,
    toolset: Annotated[str | None, Query(max_length=64)] = None,
) -> ToolList:
    """Lists the catalog in the native format, or in that of OpenAI or Anthropic requests."""
    catalog = service.registry.snapshot()
    if form == "native":
        rows = [
            row
            for row in catalog.rows()
            if category in (None, row["category"]) and toolset in (None, row["toolset"])
        ]
        tools = [_with_state(service, row) for row in rows]
    else:
        found = [catalog.tools[name] for name in service.resolver.resolve().tool_names]
        tools = render(
            (
                tool
                for tool in found
                if category in (None, tool.category) and toolset in (None, tool.toolset)
            ),
            form,
        )
    shown = [_problem(item, principal) for item in catalog.problems]
    return ToolList(format=form, tools=tools, problems=shown, generation=catalog.generation)


@router.get("/tools/{name}", summary="Get a tool", responses=problems(ToolNotFound))
async def get_tool(name: PathId, service: ServiceDep, principal: Anyone) -> ToolView:
    """`name` is the tool's name or an alias."""
    return ToolView(tool=_row(service, name))


@router.patch(
    "/tools/{name}",
    summary="Enable or disable a tool",
    responses=problems(ToolNotFound, Conflict, body=True),
    deprecated=True,
)
async def switch_tool(
    name: PathId, body: ToolSwitch, service: ServiceDep, principal: Admin
) -> ToolView:
    """Scope `admin`. Use `PATCH /admin/tools/{name}`, which can change more."""
    row = _row(service, name)
    await service.governance.set_enabled(
        row["alias_of"] or row["name"], enabled=body.enabled, actor=principal.user_id
    )
    return ToolView(tool=_row(service, name))


@router.get("/toolset", summary="List an agent's tools", responses=problems(NotFound))
async def get_toolset(
    service: ServiceDep,
    principal: Anyone,
    agent_id: Annotated[
        str | None,
        Query(max_length=128, description="ID of the agent; omit it to resolve without an agent."),
    ] = None,
) -> Toolset:
    """Returns the resolved toolset that the prompt, the executor and workers use."""
    if agent_id is not None:
        principal.require_agent(agent_id)
        service.agents.require(agent_id)
    resolved = service.resolver.resolve(agent_id)
    return Toolset(
        tool_names=list(resolved.tool_names),
        prompt_hints=dict(resolved.prompt_hints),
        manifest=list(resolved.manifest),
        routes=dict(resolved.routes),
        disabled_reasons={
            name: reason.to_dict() for name, reason in resolved.disabled_reasons.items()
        },
        runtime_diagnostic=dict(resolved.runtime_diagnostic),
    )


def _row(service: Service, name: str) -> dict[str, Any]:
    catalog = service.registry.snapshot()
    entry = catalog.lookup(name)
    if entry is None:
        raise ToolNotFound(
            f"Tool not found: {name}", tool_name=name, suggestions=catalog.suggest(name)
        )
    called = entry.alias.name if entry.alias else entry.tool.name
    row = next(row for row in rows_of(entry.tool) if row["name"] == called)
    return _with_state(service, row)


def _with_state(service: Service, row: dict[str, Any]) -> dict[str, Any]:
    reasons = service.resolver.resolve().disabled_reasons
    reason = reasons.get(row["alias_of"] or row["name"])
    shown = reason.to_dict() if reason else None
    return {**row, "enabled": reason is None, "disabled_reason": shown}


def _problem(item: PluginProblem, principal: Principal) -> dict[str, str]:
    """Return a plugin problem; only administrators see the error, which contains paths."""
    if "admin" in principal.scopes:
        return {
            "name": item.name,
            "where": item.where,
            "code": item.code,
            "error": item.error,
            "at": item.at,
            "fix": item.fix,
        }
    hidden = {
        "where": "",
        "code": NOT_LOADED,
        "error": "It failed to load",
        "at": "",
        "fix": "Only administrators can see the reason",
    }
    return {"name": item.name, **hidden}
