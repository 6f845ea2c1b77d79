"""Agents: model, instructions and tools."""

from __future__ import annotations

from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from app.api.deps import Admin, ServiceDep
from app.api.errors import problems
from app.api.rest.admin.crud import Crud, Listed, versioned
from app.api.rest.admin.versions import ExpectedVersion
from app.api.rest.body import Body, PathId
from app.api.rest.examples import MOMENT, example
from app.api.rest.headers import VERSIONED
from app.api.rest.routing import routes_of
from app.api.service import Service
from app.catalog.catalog import Catalog
from app.core.errors import (
    AlreadyExists,
    Conflict,
    InvalidInput,
    NotFound,
    ToolNotFound,
    VersionMismatch,
)
from app.core.requests import LEAST_CONTEXT, Effort
from app.governance.agents import (
    TOOLSET,
    AgentId,
    AgentProfile,
    AgentTool,
    AliasFamily,
    Entry,
    PromptParts,
    Selection,
    SkillSelection,
    StoredAgent,
    SubagentLimits,
    Unattended,
    with_new_names,
)
from app.governance.limits import SCHEMA, Limits

router = routes_of("admin", below="/admin")
agents = Crud(router, "agents", "agent_id")

_PROFILE: dict[str, Any] = {
    "id": "writer",
    "title": "Writes the docs",
    "model": "claude-sonnet-5-5",
    "system_prompt": "You write documentation.",
    "max_iterations": 20,
    "selection": ["toolset:files", "grep"],
    "tools": {"file_delete": {"state": "off"}, "write_file": {"state": "ask"}},
    "unattended": "suspend",
}
_AGENT: dict[str, Any] = {
    "profile": _PROFILE,
    "version": 1,
    "created_at": MOMENT,
    "updated_at": MOMENT,
    "unknown": [],
}


class AgentView(BaseModel):
    """An agent in its current version."""

    model_config = example(**_AGENT)

    profile: AgentProfile
    version: int
    created_at: str
    updated_at: str
    unknown: list[str] = Field(
        description="Names in the selection and the overrides that no longer exist as a tool or "
        "toolset."
    )

    @property
    def id(self) -> str:
        return self.profile.id

    @classmethod
    def of(cls, stored: StoredAgent, service: Service) -> Self:
        return cls(
            profile=stored.profile,
            version=stored.version,
            created_at=stored.created_at,
            updated_at=stored.updated_at,
            unknown=_unknown(stored.profile, service),
        )


class AgentPage(BaseModel):
    """Agents by ID."""

    model_config = example(agents=[_AGENT], total=1, next_after=None)

    agents: list[AgentView]
    total: int
    next_after: str | None = Field(default=None, description="Cursor: `after` of the next page.")


class NewAgent(AgentProfile):
    """Profile of an agent; omitted fields use the service's defaults."""

    model_config = ConfigDict(json_schema_extra={"examples": [_PROFILE]})

    force: bool = Field(default=False, description="Also disable core tools.")


class AgentChange(Body):
    """Fields to change; omitted fields stay, null restores the service's default."""

    model_config = example(model="claude-sonnet-5-5", selection=["toolset:files"])

    @model_validator(mode="before")
    @classmethod
    def _read_old_names(cls, value: Any) -> Any:
        return with_new_names(value)

    title: str = Field(default="", max_length=200)
    model: str | None = Field(default=None, min_length=1, max_length=200)
    system_prompt: str | None = Field(default=None, max_length=100_000)
    max_iterations: int | None = Field(default=None, ge=1, le=1000)
    max_tokens: int | None = Field(default=None, ge=1, le=1_000_000)
    context_tokens: int | None = Field(
        default=None, ge=LEAST_CONTEXT, description="Maximum tokens of one model request."
    )
    temperature: float | None = Field(default=None, ge=0, le=2)
    thinking_budget: int | None = Field(
        default=None, ge=0, description="Overrides both thinking settings; 0 disables thinking."
    )
    adaptive_thinking: bool | None = None
    effort: Effort | None = None
    prompt_exclude: PromptParts | None = Field(
        default=None, description="Prompt parts to leave out."
    )
    selection: Selection | None = Field(
        default=None, description="Tools and `toolset:<name>`; null for all."
    )
    tools: dict[Entry, AgentTool] = Field(
        default_factory=dict,
        max_length=1000,
        description="Overrides by tool; replaces all existing ones.",
    )
    skills: SkillSelection | None = Field(
        default=None, description="Skills the agent may use; null for all, empty for none."
    )
    aliases: AliasFamily | None = None
    unattended: Unattended | None = Field(
        default=None, description="`park` is the deprecated name of `suspend`."
    )
    limits: dict[str, Any] = Field(default_factory=dict, json_schema_extra=SCHEMA)
    max_visible_tools: int | None = Field(default=None, ge=1, le=1000)
    subagents: SubagentLimits = SubagentLimits()
    supervisor: AgentId | None = Field(
        default=None,
        description="Agent that decides when this agent escalates to `supervisor_agent`.",
    )
    stronger_model: str | None = Field(
        default=None,
        min_length=1,
        max_length=200,
        description="Model that continues the run when this agent escalates to `model_tier`.",
    )
    force: bool = Field(default=False, description="Also disable core tools.")


class Override(AgentTool):
    """Override of one tool for one agent; null removes the `state` or the `hint`.

    `on` and `ask` add the tool to the selection, `ask` requires approval of every call, and `off`
    removes it. A tool that is disabled globally stays disabled.
    """

    model_config = example(state="ask", hint="Only below docs/.")

    force: bool = Field(default=False, description="Also disable a core tool.")


@agents.page(AgentPage, "List agents")
async def list_agents(service: ServiceDep, principal: Admin) -> Listed[StoredAgent]:
    """Scope `admin`."""
    stored = {item.profile.id: item for item in service.agents.list_all()}
    return Listed(stored, lambda item: AgentView.of(item, service))


@agents.create("Create an agent", AlreadyExists, Conflict)
async def create_agent(body: NewAgent, service: ServiceDep, principal: Admin) -> AgentView:
    """Scope `admin`. The agent `default` applies to sessions and calls without an agent."""
    given = {name: getattr(body, name) for name in AgentProfile.model_fields}
    profile = AgentProfile.model_validate(_under_own_names(given, service))
    _guard_core(service, profile.tools, force=body.force)
    stored = await service.agents.create(profile, actor=principal.user_id)
    return AgentView.of(stored, service)


@agents.read("Get an agent")
async def get_agent(agent_id: PathId, service: ServiceDep, principal: Admin) -> AgentView:
    """Scope `admin`. `GET /admin/toolset?agent_id=` returns the resulting state of each tool."""
    return AgentView.of(service.agents.require(agent_id), service)


@agents.change("Update an agent", Conflict)
async def change_agent(
    agent_id: PathId,
    body: AgentChange,
    service: ServiceDep,
    principal: Admin,
    expected: ExpectedVersion,
) -> AgentView:
    """Scope `admin`. Applies to running sessions from their next turn on."""
    fields = body.sent("force")
    if "limits" in fields:
        fields["limits"] = Limits.from_json(fields["limits"], field="body.limits")
    fields = _under_own_names(fields, service)
    if "tools" in fields:
        _guard_core(service, fields["tools"], force=body.force)
    stored = await service.agents.change(
        agent_id, fields, actor=principal.user_id, expected=expected
    )
    return AgentView.of(stored, service)


@agents.remove("Delete an agent")
async def remove_agent(
    agent_id: PathId, service: ServiceDep, principal: Admin, expected: ExpectedVersion
) -> AgentView:
    """Scope `admin`. Returns the deleted agent. Its sessions remain readable but cannot run."""
    gone = service.agents.require(agent_id)
    await service.agents.remove(agent_id, actor=principal.user_id, expected=expected)
    return AgentView.of(gone, service)


@router.put(
    "/agents/{agent_id}/tools/{name}",
    summary="Override a tool for an agent",
    responses={
        **VERSIONED,
        **problems(NotFound, ToolNotFound, Conflict, VersionMismatch, body=True),
    },
)
@versioned
async def override_tool(
    agent_id: PathId,
    name: PathId,
    body: Override,
    service: ServiceDep,
    principal: Admin,
    expected: ExpectedVersion,
) -> AgentView:
    """Scope `admin`. Disabling a core tool requires `force`."""
    catalog = service.registry.snapshot()
    entry = catalog.lookup(name)
    if entry is None and name not in service.governance.snapshot.tools:
        suggestions = catalog.suggest(name)
        raise ToolNotFound(f"Tool not found: {name}", tool_name=name, suggestions=suggestions)
    tool_name = entry.tool.name if entry else name
    override = AgentTool(state=body.state, hint=body.hint)
    _guard_core(service, {tool_name: override}, force=body.force)
    stored = await service.agents.override(
        agent_id, tool_name, override, actor=principal.user_id, expected=expected
    )
    return AgentView.of(stored, service)


def _under_own_names(fields: dict[str, Any], service: Service) -> dict[str, Any]:
    """Return profile fields with canonical tool names, because the resolver ignores aliases.

    Raises:
        InvalidInput: two overrides name the same tool.
    """
    catalog = service.registry.snapshot()
    own = dict(fields)
    if own.get("selection") is not None:
        own["selection"] = _own_names(own["selection"], catalog)
    if "subagents" in own and own["subagents"].selection is not None:
        selection = _own_names(own["subagents"].selection, catalog)
        own["subagents"] = own["subagents"].model_copy(update={"selection": selection})
    if "tools" in own:
        own["tools"] = _own_overrides(own["tools"], catalog)
    return own


def _own_names(names: tuple[str, ...], catalog: Catalog) -> tuple[str, ...]:
    entries = {name: catalog.lookup(name) for name in names}
    return tuple(
        dict.fromkeys(entry.tool.name if entry else name for name, entry in entries.items())
    )


def _own_overrides(tools: dict[str, AgentTool], catalog: Catalog) -> dict[str, AgentTool]:
    own: dict[str, AgentTool] = {}
    for name, override in tools.items():
        (tool_name,) = _own_names((name,), catalog)
        if tool_name in own:
            raise InvalidInput(
                f"tools names {tool_name!r} twice: {name!r} is an alias of it", field="tools"
            )
        own[tool_name] = override
    return own


def _guard_core(service: Service, overrides: dict[str, AgentTool], *, force: bool) -> None:
    off = [name for name, override in overrides.items() if override.state == "off"]
    service.governance.guard_core(off, force=force)


def _unknown(profile: AgentProfile, service: Service) -> list[str]:
    catalog = service.registry.snapshot()
    known = {*catalog.tools, *(TOOLSET + tool.toolset for tool in catalog.tools.values())}
    subagents = profile.subagents.selection or ()
    named = dict.fromkeys((*(profile.selection or ()), *profile.tools, *subagents))
    return [name for name in named if name not in known]
