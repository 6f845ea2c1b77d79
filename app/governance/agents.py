"""An agent's profile: which model it is, what it is told, which tools it may use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import orjson
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    Strict,
    WithJsonSchema,
    field_serializer,
    field_validator,
)

from app.core.errors import InvalidInput
from app.core.field_problems import FieldError
from app.core.requests import LEAST_CONTEXT, Effort, PromptPart
from app.governance.limits import NO_LIMITS, SCHEMA, Limits

TOOLSET = "toolset:"
Unattended = Literal["deny", "park"]
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


class ProfilePart(BaseModel):
    """Base of what a profile is made of: immutable, nothing unknown, nothing converted."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class AgentTool(ProfilePart):
    """One agent's override of one tool.

    `on` adds it to the selection, `off` takes it away, `ask` adds it and asks every time.
    None of them switches on what is off for everybody.
    """

    state: Literal["on", "off", "ask"] | None = None
    hint: Hint | None = None


class SubagentLimits(ProfilePart):
    """What sub-agents of an agent may use, at most.

    Attributes:
        agents: whose profiles they may work under besides the agent's own.
        max_iterations: model requests of one; within the service's own maximum.
        max_depth: 1 for sub-agents that start none themselves; None for the service's value.
    """

    selection: Selection | None = None
    read_only: bool = False
    no_shell: bool = False
    agents: AgentIds = ()
    max_iterations: int | None = Field(default=None, ge=1, le=1000)
    max_depth: int | None = Field(default=None, ge=1, le=5)


@dataclass(frozen=True, slots=True)
class SubagentScope:
    """One sub-agent's share of what its agent's limits allow.

    Attributes:
        allowed: names of the tools that it was given; None for all.
        may_delegate: it may start sub-agents of its own.
    """

    allowed: frozenset[str] | None = None
    read_only: bool = False
    no_shell: bool = False
    may_delegate: bool = False


class AgentProfile(ProfilePart):
    """Everything an operator decides about one agent; None leaves the service's own value.

    Attributes:
        selection: names of tools, or `toolset:<name>`; None for all, empty for core tools only.
        tools: overrides by tool name.
        skills: names of skills that it may use; None for all, empty for none.
        aliases: the naming profile under which its model sees tools.
        context_tokens: of one model request; what is older is trimmed and summed up.
        temperature, thinking_budget, adaptive_thinking, effort: as the settings of that name;
            either of the two ways to think takes the place of both settings, and where the
            model shall decide itself, a budget says nothing.
        prompt_without: parts that its model is not told; None for the service's own choice.
        unattended: what happens to a call that asks while nobody can answer.
        max_visible_tools: above this many, the rest is found with `search_tools`.
        subagents: limits of the sub-agents that it starts.
        supervisor: the agent that decides what it escalates to `supervisor_agent`.
        stronger_model: the model that goes on when it escalates to `model_tier`.
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
    prompt_without: PromptParts | None = None
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
        """Whether the tool is in the selection, or is added to it by an override."""
        if self.override(tool_name).state in ("on", "ask"):
            return True
        return selected(self.selection, tool_name, toolset)

    def to_json(self) -> str:
        return orjson.dumps(self.model_dump(mode="json", exclude_defaults=True)).decode()


NO_OVERRIDE = AgentTool()


@dataclass(frozen=True, slots=True)
class StoredAgent:
    """A profile, and which version of it this is."""

    profile: AgentProfile
    version: int
    created_at: str
    updated_at: str


def selected(selection: tuple[str, ...] | None, tool_name: str, toolset: str) -> bool:
    """Whether a selection holds a tool, by its name or its toolset's."""
    return selection is None or tool_name in selection or TOOLSET + toolset in selection


def read_profile(agent_id: str, fields: Mapping[str, Any]) -> AgentProfile:
    """A profile from JSON.

    Raises:
        ValidationError: a field does not fit.
    """
    return AgentProfile.model_validate({**fields, "id": agent_id})
