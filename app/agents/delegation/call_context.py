"""Context of a sub-agent's calls."""

from __future__ import annotations

from app.agents.delegation.model import Parent, SubagentTask
from app.core.redaction import Redactor
from app.execution.context import CallContext, Project
from app.execution.subagent import Subagent
from app.toolkit.context import NOTHING


def context_of(
    redactor: Redactor, task: SubagentTask, parent: Parent, project: Project | None
) -> CallContext:
    """Return the context of the calls in the model's last response.

    Args:
        project: workspace, restricted to what the sub-agent may see.
    """
    limits = task.limits
    return CallContext(
        log=parent.session.log,
        run_id=task.run_id,
        agent_id=limits.agent_id,
        user_id=parent.quota_subject.user_id or parent.session.user_id,
        session_owner=parent.session.user_id,
        project=project,
        caller="subagent",
        attended=parent.attended,
        message_id=task.message_id,
        quota_subject=parent.quota_subject,
        business=parent.business or NOTHING,
        model={
            "model": limits.model,
            "max_tokens": limits.max_tokens,
            "temperature": limits.temperature,
        },
        subagent=Subagent(
            task_id=task.id,
            label=redactor.text(task.spec.label),
            parent_tool_call_id=parent.tool_call_id,
            scope=limits.scope,
            depth=parent.depth + 1,
            counted_run=parent.counted_run,
            process=task.own,
        ),
    )
