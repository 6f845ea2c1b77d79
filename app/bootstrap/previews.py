"""Composition of previews: what an agent would see, and how a call would be decided."""

from __future__ import annotations

from app.agents.preview import ToolsetPreview
from app.bootstrap.agents import facts_of
from app.bootstrap.container import Runtime
from app.execution.can_i import DecisionPreview, StoredPolicy


def toolset_preview(runtime: Runtime) -> ToolsetPreview:
    """Return the preview of an agent's tools and prompt."""
    return ToolsetPreview(runtime.agents, runtime.resolver, facts_of(runtime), runtime.settings)


def decision_preview(runtime: Runtime) -> DecisionPreview:
    """Return the preview of decisions about calls."""
    return DecisionPreview(
        *(runtime.agents, runtime.projects, runtime.events, runtime.executor),
        hooks=runtime.hooks,
        redactor=runtime.redactor,
        stored=StoredPolicy(runtime.rule_sets, runtime.grants, runtime.clock),
    )
