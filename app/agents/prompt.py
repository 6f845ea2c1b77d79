"""What a model is told before the first message."""

from __future__ import annotations

from app.resolver.resolver import ResolvedToolset

IDENTITY = (
    "You are an assistant working through Tollgate, which runs tools for you. Some calls need a "
    "person's confirmation: when one is declined, respect it and do not try the same thing "
    "another way. A call that was denied by policy will not succeed when repeated. Use tools "
    "only where they help, several at once when they do not depend on each other."
)


def system_prompt(toolset: ResolvedToolset, *, workspace: str | None) -> str:
    """Identity, the workspace, and hints for exactly the tools that are on."""
    parts = [IDENTITY]
    if workspace:
        parts.append(
            f"The workspace is {workspace}; file paths are relative to it, and nothing outside it "
            "can be read or written by the file tools."
        )
    if toolset.prompt_hints:
        hints = "\n".join(f"- {name}: {hint}" for name, hint in toolset.prompt_hints.items())
        parts.append(f"About the tools:\n{hints}")
    return "\n\n".join(parts)
