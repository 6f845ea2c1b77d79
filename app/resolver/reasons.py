"""Reasons why a tool is unavailable, in the words of all pages and prompts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

# Layer that gives the reason, in order of evaluation.
LAYERS: Mapping[str, str] = MappingProxyType(
    {
        "absent": "catalog",
        "plugin_broken": "catalog",
        "unknown_agent": "agent",
        "disabled_global": "global",
        "disabled_toolset": "toolset",
        "not_selected": "agent",
        "disabled_agent": "agent",
        "subagent_not_allowed": "subagent",
        "subagent_read_only": "subagent",
        "subagent_no_shell": "subagent",
        "subagent_depth": "subagent",
        "subagent_not_given": "subagent",
        "missing_config": "configuration",
        "platform": "platform",
        "missing_program": "platform",
        "no_sandbox": "platform",
    }
)

# Settings that provide services required by tools.
_CONFIGURED_BY: Mapping[str, str] = MappingProxyType(
    {
        "screen_capture": "Install chromium-headless-shell, or set TOLLGATE_SCREENS__BROWSER to a "
        "headless Chromium",
        "web.search_provider": "Set TOLLGATE_WEB__SEARCH_PROVIDER to auto or to a provider",
        "images.provider": "Set TOLLGATE_IMAGES__PROVIDER",
        "triggers.allow": "Set TOLLGATE_TRIGGERS__ALLOW, or add a named trigger",
        "weather": "Set TOLLGATE_WEATHER__PROVIDER",
    }
)


@dataclass(frozen=True, slots=True)
class DisabledReason:
    """Machine code and sentence; `fix` is how to make the tool available."""

    code: str
    message: str
    fix: str = field(default="", compare=False)

    @property
    def layer(self) -> str:
        """Layer of governance that decided it."""
        return LAYERS.get(self.code, "global")

    def to_dict(self) -> dict[str, str]:
        return {"code": self.code, "message": self.message, "layer": self.layer, "fix": self.fix}


def absent(name: str) -> DisabledReason:
    return DisabledReason(
        "absent",
        f"Tool {name!r} is no longer in the catalog",
        "Install the plugin or version that provides it; its settings are kept",
    )


def plugin_broken(name: str, plugins: list[str]) -> DisabledReason:
    return DisabledReason(
        "plugin_broken",
        f"Tool {name!r} came from a plugin, and {', '.join(plugins)} failed to load",
        "Fix the error listed under the catalog's problems, and restart",
    )


def unknown_agent(agent_id: str) -> DisabledReason:
    return DisabledReason(
        "unknown_agent",
        f"Agent {agent_id!r} does not exist, so it has no tools",
        f"Create the agent {agent_id!r}, or use another agent",
    )


def disabled_global(name: str) -> DisabledReason:
    return DisabledReason(
        "disabled_global",
        f"Tool {name!r} is disabled by an administrator",
        f"`tollgate tools enable {name}`",
    )


def disabled_toolset(name: str, toolset: str) -> DisabledReason:
    return DisabledReason(
        "disabled_toolset",
        f"The toolset {toolset!r} of {name!r} is disabled by an administrator",
        f"Enable the toolset {toolset!r}",
    )


def not_selected(name: str, agent_id: str) -> DisabledReason:
    return DisabledReason(
        "not_selected",
        f"Tool {name!r} is not in the selection of agent {agent_id!r}",
        f"`tollgate tools enable {name} --agent {agent_id}`",
    )


def disabled_agent(name: str, agent_id: str) -> DisabledReason:
    return DisabledReason(
        "disabled_agent",
        f"Tool {name!r} is disabled for agent {agent_id!r}",
        f"`tollgate tools enable {name} --agent {agent_id}`",
    )


def subagent_not_allowed(name: str, *, interactive: bool) -> DisabledReason:
    if interactive:
        return DisabledReason(
            "subagent_not_allowed",
            f"Tool {name!r} waits for a person, which sub-agents cannot do",
            "Call it from the agent itself",
        )
    return DisabledReason(
        "subagent_not_allowed",
        f"Tool {name!r} is not available to sub-agents",
        "Add it to the agent's `subagents.selection`, if the tool supports sub-agents",
    )


def subagent_depth(name: str) -> DisabledReason:
    return DisabledReason(
        "subagent_depth",
        f"Tool {name!r} starts sub-agents, which this sub-agent is not allowed to do",
        "Call it from the agent itself, or raise the agent's `subagents.max_depth`",
    )


def subagent_not_given(name: str) -> DisabledReason:
    return DisabledReason(
        "subagent_not_given",
        f"Tool {name!r} is not among the tools of this sub-agent",
        "List it in `tools` of the task",
    )


def subagent_read_only(name: str, *, asked: bool) -> DisabledReason:
    """Return the reason; `asked` if the sub-agent's creator requested it."""
    if asked:
        who, fix = "this sub-agent", "Omit `read_only` from the task"
    else:
        who, fix = "sub-agents of this agent", "Set `subagents.read_only` of the agent to false"
    return DisabledReason(
        "subagent_read_only", f"Tool {name!r} can make changes, but {who} may only read", fix
    )


def subagent_no_shell(name: str, *, asked: bool) -> DisabledReason:
    """Return the reason; `asked` if the sub-agent's creator requested it."""
    if asked:
        who, fix = "this sub-agent", "Omit `no_shell` from the task"
    else:
        who, fix = "sub-agents of this agent", "Set `subagents.no_shell` of the agent to false"
    return DisabledReason(
        "subagent_no_shell", f"Tool {name!r} runs commands, which {who} may not do", fix
    )


def missing_config(name: str, missing: list[str]) -> DisabledReason:
    return DisabledReason(
        "missing_config",
        f"Tool {name!r} requires configuration: {', '.join(missing)}",
        "; ".join(_CONFIGURED_BY.get(one, f"Configure {one}") for one in missing),
    )


def missing_program(name: str, missing: list[str]) -> DisabledReason:
    programs = ", ".join(missing)
    return DisabledReason(
        "missing_program",
        f"Tool {name!r} requires a program that is not installed: {programs}",
        f"Install {programs} on the PATH, such as in /usr/local/bin, and restart",
    )


def no_sandbox(name: str, why: str) -> DisabledReason:
    return DisabledReason(
        "no_sandbox",
        f"Tool {name!r} would run without a sufficient sandbox: {why}",
        "See `tollgate doctor`; with TOLLGATE_SANDBOX__WEAKER=ask, it runs if a "
        "person approves each call",
    )


def wrong_platform(name: str, platform: str, needed: tuple[str, ...]) -> DisabledReason:
    return DisabledReason(
        "platform",
        f"Tool {name!r} does not support {platform}",
        f"Run the service on {' or '.join(needed)}",
    )
