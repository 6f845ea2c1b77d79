"""What a model is told before the first message."""

from __future__ import annotations

from collections.abc import Iterable

from app.resolver.resolver import ResolvedToolset
from app.toolkit.ports import SEARCH_TOOLS

READ_SKILL = "read_skill"
IDENTITY = (
    "You are an assistant working through Tollgate, which runs tools for you. Some calls need a "
    "person's confirmation: when one is declined, respect it and do not try the same thing "
    "another way. A call that was denied by policy will not succeed when repeated. Use tools "
    "only where they help, several at once when they do not depend on each other."
)


def system_prompt(
    toolset: ResolvedToolset,
    *,
    workspace: str | None,
    found: Iterable[str] = (),
    skills: str = "",
) -> str:
    """Identity, the agent's own words, the workspace, and hints for the tools that are shown.

    Args:
        found: tools that the run has found with `search_tools`.
        skills: what is told of skills; left out for who cannot read them.
    """
    parts = [IDENTITY]
    if toolset.agent is not None and toolset.agent.system_prompt:
        parts.append(toolset.agent.system_prompt)
    if workspace:
        parts.append(
            f"The workspace is {workspace}; file paths are relative to it, and nothing outside it "
            "can be read or written by the file tools."
        )
    exposure = toolset.exposure
    shown = {*exposure.visible, *found}
    hints = [
        f"- {exposure.definitions[name]['name']}: {hint}"
        for name, hint in toolset.prompt_hints.items()
        if name in shown
    ]
    if hints:
        parts.append("About the tools:\n" + "\n".join(hints))
    if skills and READ_SKILL in toolset.tool_names:
        parts.append(skills)
    hidden = len(set(exposure.deferred).difference(found))
    if hidden:
        parts.append(
            f"More tools ({hidden}) are not shown to you: when none of yours fits, look with "
            f"{SEARCH_TOOLS} before you say that something cannot be done."
        )
    return "\n\n".join(parts)
