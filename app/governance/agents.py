"""Profile of an agent: its model, prompt and tools."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Any, Literal

import orjson
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    Strict,
    WithJsonSchema,
    computed_field,
    field_serializer,
    field_validator,
    model_validator,
)

from app.config.origins import SettingPath
from app.core.errors import InvalidInput
from app.core.field_problems import FieldError
from app.core.requests import LEAST_CONTEXT, Effort, PromptPart
from app.governance.limits import NO_LIMITS, SCHEMA, Limits

TOOLSET = "toolset:"


def with_new_names(fields: Any) -> Any:
    """Return fields of a profile with `prompt_exclude` for its old name `prompt_without`."""
    # The old name works until 0.4; profiles stored before 0.2 contain it.
    if not isinstance(fields, Mapping) or "prompt_without" not in fields:
        return fields
    others = {name: value for name, value in fields.items() if name != "prompt_without"}
    old = fields["prompt_without"]
    if others.setdefault("prompt_exclude", old) != old:
        raise FieldError(
            "prompt_exclude and its old name prompt_without differ; send only prompt_exclude",
            code="two_values",
        )
    return others


def _with_new_name(value: object) -> object:
    # Old name of `suspend`, which works until 0.4; profiles stored before 0.2 contain it.
    return "suspend" if value == "park" else value


Unattended = Annotated[Literal["deny", "suspend"], BeforeValidator(_with_new_name)]
AliasFamily = Literal["nanoclaw", "netaclaw", "jarvis", "countbot", "claude"]
_ID = r"^[A-Za-z0-9][A-Za-z0-9_.:\-]{0,127}$"
_ENTRY = r"^(toolset:)?[A-Za-z0-9_.\-]{1,128}$"

AgentId = Annotated[str, Field(pattern=_ID)]
Entry = Annotated[str, Field(pattern=_ENTRY)]
Selection = Annotated[tuple[Entry, ...], Field(max_length=1000), Strict(strict=False)]
SkillName = Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=64)]
SkillSelection = Annotated[tuple[SkillName, ...], Field(max_length=1000), Strict(strict=False)]
AgentIds = Annotated[tuple[AgentId, ...], Field(max_length=100), Strict(strict=False)]
PromptParts = Annotated[tuple[PromptPart, ...], Field(max_length=10), Strict(strict=False)]
Hint = Annotated[str, Field(max_length=2000)]
_LimitsInput = Annotated[Any, WithJsonSchema({"type": "object", **SCHEMA})]

# Profile field by setting.
OF_PROFILE: Mapping[SettingPath, str] = MappingProxyType(
    {
        **{
            (name,): name
            for name in (
                *("model", "max_iterations", "max_tokens", "context_tokens", "temperature"),
                *("thinking_budget", "adaptive_thinking", "effort"),
                *("unattended", "max_visible_tools", "prompt_exclude"),
            )
        },
        ("escalation", "stronger_model"): "stronger_model",
        ("sub_agent", "max_depth"): "subagents.max_depth",
    }
)
# Choosing one of these also discards the settings' value of the other.
_THINKING: Mapping[SettingPath, Any] = MappingProxyType(
    {("thinking_budget",): 0, ("adaptive_thinking",): False}
)


class ProfilePart(BaseModel):
    """Base of profile parts: immutable, without unknown fields, without conversion."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class AgentTool(ProfilePart):
    """Override of one tool for one agent.

    `on` adds it to the selection, `off` removes it, `ask` adds it and requires approval every time.
    None of them enables a tool that is disabled for everyone.
    """

    state: Literal["on", "off", "ask"] | None = None
    hint: Hint | None = None


class SubagentLimits(ProfilePart):
    """Upper limits of an agent's sub-agents.

    Attributes:
        agents: agents whose profiles they may use, besides the agent's own.
        max_iterations: maximum model requests of one sub-agent, within the service's maximum.
        max_depth: 1 for sub-agents that start none; None for the service's value.
    """

    selection: Selection | None = None
    read_only: bool = False
    no_shell: bool = False
    agents: AgentIds = ()
    max_iterations: int | None = Field(default=None, ge=1, le=1000)
    max_depth: int | None = Field(default=None, ge=1, le=5)


@dataclass(frozen=True, slots=True)
class SubagentScope:
    """Rights of one sub-agent, within its agent's limits.

    Attributes:
        allowed: names of its tools; None for all.
        may_delegate: it may start sub-agents.
    """

    allowed: frozenset[str] | None = None
    read_only: bool = False
    no_shell: bool = False
    may_delegate: bool = False


class AgentProfile(ProfilePart):
    """Profile of one agent, set by an operator; None uses the service's value.

    Attributes:
        selection: names of tools, or `toolset:<name>`; None for all, empty for core tools only.
        tools: overrides by tool name.
        skills: names of allowed skills; None for all, empty for none.
        aliases: naming profile of the tools shown to its model.
        context_tokens: tokens of one model request; older parts are trimmed and summarized.
        temperature, thinking_budget, adaptive_thinking, effort: see the settings of these names;
            either thinking field replaces both settings, and a budget is ignored if the model
            decides itself.
        prompt_exclude: omitted prompt parts; None for the service's choice.
        unattended: handling of calls that need approval while no client can answer.
        max_visible_tools: maximum tools shown; the rest is found with `search_tools`.
        subagents: limits of its sub-agents.
        supervisor: agent that decides escalations to `supervisor_agent`.
        stronger_model: model that continues after an escalation to `model_tier`.
    """

    id: AgentId
    title: str = Field(default="", max_length=200)
    model: str | None = Field(default=None, min_length=1, max_length=200)
    system_prompt: str | None = Field(default=None, max_length=100_000)
    max_iterations: int | None = Field(default=None, ge=1, le=1000)
    max_tokens: int | None = Field(default=None, ge=1, le=1_000_000)
    context_tokens: int | None = Field(default=None, ge=LEAST_CONTEXT)
    temperature: float | None = Field(default=None, ge=0, le=2, strict=False)
    thinking_budget: int | None = Field(default=None, ge=0)
    adaptive_thinking: bool | None = None
    effort: Effort | None = None
    prompt_exclude: PromptParts | None = None
    selection: Selection | None = None
    tools: dict[Entry, AgentTool] = Field(default_factory=dict, max_length=1000)
    skills: SkillSelection | None = None
    aliases: AliasFamily | None = None
    unattended: Unattended | None = None
    limits: Limits = NO_LIMITS
    max_visible_tools: int | None = Field(default=None, ge=1, le=1000)
    subagents: SubagentLimits = SubagentLimits()
    supervisor: AgentId | None = None
    stronger_model: str | None = Field(default=None, min_length=1, max_length=200)

    @model_validator(mode="before")
    @classmethod
    def _read_old_names(cls, value: Any) -> Any:
        return with_new_names(value)

    @field_validator("limits", mode="plain", json_schema_input_type=_LimitsInput)
    @classmethod
    def _read_limits(cls, value: Any) -> Limits:
        if isinstance(value, Limits):
            return value
        try:
            return Limits.from_json(value)
        except InvalidInput as error:
            raise FieldError(error.message, code="invalid_limit") from None

    @field_serializer("limits")
    def _write_limits(self, value: Limits) -> dict[str, float]:
        return dict(value.to_json())

    def override(self, tool_name: str) -> AgentTool:
        return self.tools.get(tool_name, NO_OVERRIDE)

    def selects(self, tool_name: str, toolset: str) -> bool:
        """Return whether the tool is in the selection, or added to it by an override."""
        if self.override(tool_name).state in ("on", "ask"):
            return True
        return selected(self.selection, tool_name, toolset)

    # Returned until 0.4, and not stored.
    @computed_field(  # type: ignore[prop-decorator]
        description="Deprecated name of `prompt_exclude`.", json_schema_extra={"deprecated": True}
    )
    @property
    def prompt_without(self) -> PromptParts | None:
        return self.prompt_exclude

    def to_json(self) -> str:
        stored = self.model_dump(mode="json", exclude_defaults=True, exclude={"prompt_without"})
        return orjson.dumps(stored).decode()


NO_OVERRIDE = AgentTool()


@dataclass(frozen=True, slots=True)
class StoredAgent:
    """Profile with its version."""

    profile: AgentProfile
    version: int
    created_at: str
    updated_at: str


def selected(selection: tuple[str, ...] | None, tool_name: str, toolset: str) -> bool:
    """Return whether a selection contains a tool, by its name or its toolset's."""
    return selection is None or tool_name in selection or TOOLSET + toolset in selection


def read_profile(agent_id: str, fields: Mapping[str, Any]) -> AgentProfile:
    """Parse a profile from JSON.

    Raises:
        ValidationError: a field is invalid.
    """
    return AgentProfile.model_validate({**fields, "id": agent_id})


def decided_by(profile: AgentProfile | None) -> dict[SettingPath, Any]:
    """Return the settings that the profile overrides, with its values."""
    if profile is None:
        return {}
    data = {path: _field(profile, name) for path, name in OF_PROFILE.items()}
    found = {path: value for path, value in data.items() if value is not None}
    if not found.keys().isdisjoint(_THINKING):
        found = {**_THINKING, **found}
    return found


def _field(profile: AgentProfile, name: str) -> Any:
    value: Any = profile
    for part in name.split("."):
        value = getattr(value, part)
    return value
