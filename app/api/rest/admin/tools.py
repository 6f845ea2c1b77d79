"""Governance of tools and toolsets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

from fastapi import Query
from pydantic import BaseModel, Field

from app.api.deps import Admin, ServiceDep
from app.api.errors import problems
from app.api.rest.admin.crud import Crud, Listed
from app.api.rest.admin.diagnostics import ROW, Diagnostic
from app.api.rest.admin.versions import ExpectedVersion
from app.api.rest.body import Body, Identifier, PathId
from app.api.rest.examples import example
from app.api.rest.routing import routes_of
from app.api.service import Service
from app.core.errors import Conflict, NotFound, ToolNotFound
from app.governance.limits import CALLS_SCHEMA, Limits
from app.governance.rows import shown
from app.governance.snapshot import ToolState
from app.toolkit.tool import Tool

router = routes_of("admin", below="/admin")
tools = Crud(router, "tools", "name", missing=ToolNotFound)
toolsets = Crud(router, "toolsets", "name")

_CHOICES = (
    "enabled",
    "is_core",
    "prompt_hint",
    "requires_confirmation",
    "timeout_s",
    "max_output_chars",
    "limits",
)
_TOOL: dict[str, Any] = {
    "name": "bash",
    "description": "Run a command with bash.",
    "source": "builtin",
    "toolset": "shell",
    "category": "shell",
    "permission_class": "EXTERNAL",
    "aliases": ["exec"],
    "present": True,
    "choices": {
        "enabled": False,
        "is_core": None,
        "prompt_hint": None,
        "requires_confirmation": None,
        "timeout_s": None,
        "max_output_chars": None,
        "limits": {},
    },
    "effective": ROW,
    "version": 2,
}
_TOOLSET = {"name": "shell", "enabled": True, "tools": ["bash"], "version": 1}


class Choices(BaseModel):
    """Overrides of the operator; null keeps the tool's own value."""

    model_config = example(**_TOOL["choices"])

    enabled: bool
    is_core: bool | None
    prompt_hint: str | None
    requires_confirmation: bool | None
    timeout_s: float | None
    max_output_chars: int | None
    limits: dict[str, int | float]


@dataclass(frozen=True, slots=True)
class GovernedTool:
    """A tool of the catalog or one that it no longer contains, with the fields of the filters.

    Attributes:
        tool: None if the catalog no longer contains it.
        diagnostic: effective state without an agent.
    """

    name: str
    tool: Tool | None
    state: ToolState
    diagnostic: dict[str, Any]

    @property
    def source(self) -> str:
        return self.tool.source if self.tool else self.state.source

    @property
    def toolset(self) -> str:
        return self.tool.toolset if self.tool else self.state.toolset

    @property
    def category(self) -> str | None:
        return self.tool.category if self.tool else None

    @property
    def permission(self) -> str | None:
        return self.tool.permission_class.value if self.tool else None

    @property
    def aliases(self) -> list[str]:
        return [alias.name for alias in self.tool.aliases] if self.tool else []

    @property
    def shown_state(self) -> str:
        """State for the filter `state`."""
        return str(self.diagnostic["state"]) if self.tool else "absent"

    def matches(self, text: str) -> bool:
        """Return whether its name, an alias or its description contains a casefolded text."""
        places = (self.name, *self.aliases, self.tool.description if self.tool else "")
        return any(text in place.casefold() for place in places)


class AdminTool(BaseModel):
    """A tool with its overrides, and its effective state without an agent."""

    model_config = example(**_TOOL)

    name: str
    description: str | None = Field(description="Null if the catalog no longer contains it.")
    source: str
    toolset: str
    category: str | None
    permission_class: str | None
    aliases: list[str]
    present: bool = Field(description="Whether the catalog currently contains it.")
    choices: Choices
    effective: Diagnostic
    version: int

    @classmethod
    def of(cls, row: GovernedTool) -> Self:
        return cls(
            name=row.name,
            description=row.tool.description if row.tool else None,
            source=row.source,
            toolset=row.toolset,
            category=row.category,
            permission_class=row.permission,
            aliases=row.aliases,
            present=row.tool is not None,
            choices=Choices(**shown(row.state, _CHOICES)),
            effective=Diagnostic(**row.diagnostic),
            version=row.state.version,
        )


class AdminToolPage(BaseModel):
    """Tools by name."""

    model_config = example(tools=[_TOOL], total=1, next_after=None)

    tools: list[AdminTool]
    total: int = Field(description="Number of matching tools on all pages.")
    next_after: str | None = Field(default=None, description="Cursor: `after` of the next page.")


class ToolChange(Body):
    """Fields to change; omitted fields stay, null restores the tool's own value."""

    model_config = example(requires_confirmation=True, prompt_hint="Prefer read_file over cat.")

    enabled: bool = True
    is_core: bool | None = None
    prompt_hint: str | None = Field(default=None, max_length=2000)
    requires_confirmation: bool | None = None
    timeout_s: float | None = Field(default=None, gt=0, le=86_400)
    max_output_chars: int | None = Field(default=None, ge=100, le=10_000_000)
    limits: dict[str, Any] | None = Field(default=None, json_schema_extra=CALLS_SCHEMA)
    force: bool = Field(default=False, description="Also disable a core tool.")


class ManyToolsSwitch(Body):
    """Tools to enable or disable, all of them or none."""

    model_config = example(names=["bash", "write_file"], enabled=False)

    names: list[Identifier] = Field(min_length=1, max_length=1000)
    enabled: bool
    force: bool = Field(default=False, description="Also disable core tools.")


class ToolsSwitched(BaseModel):
    """Result of the change."""

    model_config = example(enabled=False, changed=["bash"], unchanged=["write_file"])

    enabled: bool
    changed: list[str]
    unchanged: list[str] = Field(description="Tools that were already in this state.")


class ToolsetView(BaseModel):
    """A toolset: tools that are enabled and disabled together."""

    model_config = example(**_TOOLSET)

    name: str
    enabled: bool
    tools: list[str]
    version: int


class ToolsetList(BaseModel):
    """All toolsets, by name."""

    model_config = example(toolsets=[_TOOLSET])

    toolsets: list[ToolsetView]


class ToolsetChange(Body):
    """New state of a toolset; the states of its tools do not change."""

    model_config = example(enabled=False)

    enabled: bool
    force: bool = Field(default=False, description="Also if it contains core tools.")


State = Literal["on", "asks", "off", "absent"]


@tools.page(AdminToolPage, "List tools with their governance")
async def list_governed_tools(
    service: ServiceDep,
    principal: Admin,
    q: Annotated[
        str | None, Query(max_length=200, description="Text in the name, alias or description.")
    ] = None,
    toolset: Annotated[str | None, Query(max_length=128)] = None,
    category: Annotated[str | None, Query(max_length=128)] = None,
    source: Annotated[str | None, Query(max_length=40)] = None,
    state: State | None = None,
    permission: Literal["READ", "WRITE", "EXTERNAL"] | None = None,
) -> Listed[GovernedTool]:
    """Scope `admin`. Includes tools no longer in the catalog, whose overrides remain stored."""
    rows = {
        row.name: row
        for row in _rows(service)
        if (toolset is None or row.toolset == toolset)
        and (category is None or row.category == category)
        and (source is None or row.source == source)
        and (state is None or state == row.shown_state)
        and (permission is None or row.permission == permission)
        and (q is None or row.matches(q.casefold()))
    }
    return Listed(rows, AdminTool.of)


@tools.read("Get a tool with its governance")
async def get_governed_tool(name: PathId, service: ServiceDep, principal: Admin) -> AdminTool:
    """Scope `admin`. By its name or an alias; `ETag` is the version."""
    return _shown(service, _canonical(service, name))


@tools.change("Update the governance of a tool", Conflict)
async def change_tool(
    name: PathId,
    body: ToolChange,
    service: ServiceDep,
    principal: Admin,
    expected: ExpectedVersion,
) -> AdminTool:
    """Scope `admin`. Applies from the next call on, even in running sessions.

    Every agent has the core tools, whatever its selection: disabling one requires `force`.
    """
    tool_name = _canonical(service, name)
    changes: dict[str, Any] = {
        field: getattr(body, field) for field in _CHOICES if field in body.model_fields_set
    }
    if "limits" in changes:
        limits = Limits.from_json(changes["limits"], field="body.limits", of_calls=True)
        changes["limits"] = limits
    await service.governance.change_tool(
        tool_name, changes, actor=principal.user_id, expected=expected, force=body.force
    )
    return _shown(service, tool_name)


@router.post(
    "/tools/switch",
    summary="Enable or disable several tools",
    responses=problems(ToolNotFound, Conflict, body=True),
)
async def switch_tools(
    body: ManyToolsSwitch, service: ServiceDep, principal: Admin
) -> ToolsSwitched:
    """Scope `admin`. Changes all or none; `details.unknown` lists unknown tools."""
    catalog = service.registry.snapshot()
    entries = {name: catalog.lookup(name) for name in body.names}
    names = {name: entry.tool.name if entry else name for name, entry in entries.items()}
    wanted = list(dict.fromkeys(names.values()))
    changed = await service.governance.switch_tools(
        wanted, enabled=body.enabled, actor=principal.user_id, force=body.force
    )
    unchanged = [name for name in wanted if name not in changed]
    return ToolsSwitched(enabled=body.enabled, changed=changed, unchanged=unchanged)


@router.get("/toolsets", summary="List toolsets", responses=problems())
async def list_toolsets(service: ServiceDep, principal: Admin) -> ToolsetList:
    """Scope `admin`."""
    names = sorted({state.toolset for state in service.governance.snapshot.tools.values()})
    return ToolsetList(toolsets=[_toolset(service, name) for name in names])


@toolsets.read("Get a toolset")
async def get_governed_toolset(name: PathId, service: ServiceDep, principal: Admin) -> ToolsetView:
    """Scope `admin`. `ETag` is the version."""
    view = _toolset(service, name)
    if not view.tools:
        raise NotFound(f"Toolset {name!r} not found", toolset=name)
    return view


@toolsets.change("Enable or disable a toolset", Conflict)
async def change_toolset(
    name: PathId,
    body: ToolsetChange,
    service: ServiceDep,
    principal: Admin,
    expected: ExpectedVersion,
) -> ToolsetView:
    """Scope `admin`. The states of its tools do not change; they apply while it is enabled."""
    await service.governance.change_toolset(
        name, enabled=body.enabled, actor=principal.user_id, expected=expected, force=body.force
    )
    return _toolset(service, name)


def _canonical(service: Service, name: str) -> str:
    """Return the canonical name of a tool; governance also knows tools no longer in the catalog."""
    catalog = service.registry.snapshot()
    entry = catalog.lookup(name)
    if entry is not None:
        return entry.tool.name
    if name in service.governance.snapshot.tools:
        return name
    raise ToolNotFound(f"Tool not found: {name}", tool_name=name, suggestions=catalog.suggest(name))


def _shown(service: Service, name: str) -> AdminTool:
    return next(AdminTool.of(row) for row in _rows(service) if row.name == name)


def _rows(service: Service) -> list[GovernedTool]:
    catalog, resolved = service.registry.snapshot(), service.resolver.resolve()
    states = service.governance.snapshot
    rows = {row["name"]: row for row in resolved.runtime_diagnostic["tools"]}
    return [
        GovernedTool(name, catalog.tools.get(name), states.state(name), rows[name])
        for name in sorted(rows)
    ]


def _toolset(service: Service, name: str) -> ToolsetView:
    snapshot = service.governance.snapshot
    members = sorted(tool for tool, state in snapshot.tools.items() if state.toolset == name)
    state = snapshot.toolset(name)
    return ToolsetView(name=name, enabled=state.enabled, tools=members, version=state.version)
