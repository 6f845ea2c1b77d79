"""Why a tool is missing, in words that every page and every prompt shares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

# Which layer says so; in the order in which the layers are asked.
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

# What sets up a service that tools need.
_CONFIGURED_BY: Mapping[str, str] = MappingProxyType(
    {
        "screen_capture": "Install chromium-headless-shell, or set TOLLGATE_SCREENS__BROWSER to the"
        " program of a headless Chromium",
        "web.search_provider": "Set TOLLGATE_WEB__SEARCH_PROVIDER to auto or to a provider",
        "images.provider": "Set TOLLGATE_IMAGES__PROVIDER",
        "triggers.allow": "Set TOLLGATE_TRIGGERS__ALLOW, or add a named trigger",
        "weather": "Set TOLLGATE_WEATHER__PROVIDER",
    }
)


@dataclass(frozen=True, slots=True)
class DisabledReason:
    """A machine code and a sentence; `fix` says what would bring the tool back."""

    code: str
    message: str
    fix: str = field(default="", compare=False)

    @property
    def layer(self) -> str:
        """Which layer of governance has decided it."""
        return LAYERS.get(self.code, "global")

    def to_dict(self) -> dict[str, str]:
        return {"code": self.code, "message": self.message, "layer": self.layer, "fix": self.fix}


def absent(name: str) -> DisabledReason:
    return DisabledReason(
        "absent",
        f"{name!r} is not in the catalog any more",
        "Install the plugin or the version that brings it; its settings are kept",
    )


def plugin_broken(name: str, plugins: list[str]) -> DisabledReason:
    return DisabledReason(
        "plugin_broken",
        f"{name!r} came from a plugin, and {', '.join(plugins)} could not be loaded",
        "See the error under the catalog's problems, mend the plugin and restart",
    )


def unknown_agent(agent_id: str) -> DisabledReason:
    return DisabledReason(
        "unknown_agent",
        f"There is no agent {agent_id!r}, so it may use nothing",
        f"Make the agent {agent_id!r}, or name another one",
    )


def disabled_global(name: str) -> DisabledReason:
    return DisabledReason(
        "disabled_global",
        f"An administrator has switched {name!r} off",
        f"`tollgate tools enable {name}`",
    )


def disabled_toolset(name: str, toolset: str) -> DisabledReason:
    return DisabledReason(
        "disabled_toolset",
        f"An administrator has switched the toolset {toolset!r} of {name!r} off",
        f"Switch the toolset {toolset!r} on",
    )


def not_selected(name: str, agent_id: str) -> DisabledReason:
    return DisabledReason(
        "not_selected",
        f"{name!r} is not in the selection of agent {agent_id!r}",
        f"`tollgate tools enable {name} --agent {agent_id}`",
    )


def disabled_agent(name: str, agent_id: str) -> DisabledReason:
    return DisabledReason(
        "disabled_agent",
        f"{name!r} is switched off for agent {agent_id!r}",
        f"`tollgate tools enable {name} --agent {agent_id}`",
    )


def subagent_not_allowed(name: str, *, interactive: bool) -> DisabledReason:
    if interactive:
        return DisabledReason(
            "subagent_not_allowed",
            f"{name!r} waits for a person, and a sub-agent has none",
            "Let the agent itself call it",
        )
    return DisabledReason(
        "subagent_not_allowed",
        f"{name!r} is not for sub-agents",
        "Add it to the agent's `subagents.selection`, if the tool allows sub-agents at all",
    )


def subagent_depth(name: str) -> DisabledReason:
    return DisabledReason(
        "subagent_depth",
        f"{name!r} starts sub-agents, and this sub-agent may start none",
        "Let the agent itself call it, or raise `subagents.max_depth` of the agent",
    )


def subagent_not_given(name: str) -> DisabledReason:
    return DisabledReason(
        "subagent_not_given",
        f"{name!r} is not among the tools that this sub-agent was given",
        "Name it in `tools` of the task",
    )


def subagent_read_only(name: str, *, asked: bool) -> DisabledReason:
    """`asked`: whoever started the sub-agent wanted it so."""
    if asked:
        who, fix = "this sub-agent", "Leave `read_only` out of the task"
    else:
        who, fix = "sub-agents of this agent", "Set `subagents.read_only` of the agent to false"
    return DisabledReason(
        "subagent_read_only", f"{name!r} can change something, and {who} may only read", fix
    )


def subagent_no_shell(name: str, *, asked: bool) -> DisabledReason:
    """`asked`: whoever started the sub-agent wanted it so."""
    if asked:
        who, fix = "this sub-agent", "Leave `no_shell` out of the task"
    else:
        who, fix = "sub-agents of this agent", "Set `subagents.no_shell` of the agent to false"
    return DisabledReason("subagent_no_shell", f"{name!r} runs commands, and {who} may not", fix)


def missing_config(name: str, missing: list[str]) -> DisabledReason:
    return DisabledReason(
        "missing_config",
        f"{name!r} needs what is not configured: {', '.join(missing)}",
        "; ".join(_CONFIGURED_BY.get(one, f"Configure {one}") for one in missing),
    )


def missing_program(name: str, missing: list[str]) -> DisabledReason:
    programs = ", ".join(missing)
    return DisabledReason(
        "missing_program",
        f"{name!r} needs a program that is not installed: {programs}",
        f"Install {programs} where commands find it, such as /usr/local/bin, and restart",
    )


def no_sandbox(name: str, why: str) -> DisabledReason:
    return DisabledReason(
        "no_sandbox",
        f"{name!r} would run without enough of a sandbox: {why}",
        "See `tollgate doctor`; TOLLGATE_SANDBOX__WEAKER=ask lets it run when a person agrees to"
        " each call",
    )


def wrong_platform(name: str, platform: str, needed: tuple[str, ...]) -> DisabledReason:
    return DisabledReason(
        "platform",
        f"{name!r} does not work on {platform}",
        f"Run the service on {' or '.join(needed)}",
    )
