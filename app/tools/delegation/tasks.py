"""Arguments of one task, and their conversion to a `TaskSpec`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from app.core.field_problems import FieldError
from app.domain.delegation import TaskSpec
from app.toolkit.tool import ToolArgs
from app.tools.arguments import PathText

LONGEST_S = 7 * 86_400.0
"""Maximum seconds that a call waits for sub-agents; the settings limit each task further."""

_LABEL_CHARS = 30
_CONTEXT = "Context:"


def _one_line(label: str) -> str:
    if not label.strip() or not label.isprintable():
        raise FieldError("a label is one line of visible characters", code="one_line")
    return label


Goal = Annotated[str, Field(min_length=1, max_length=50_000, pattern=r"\S")]
Label = Annotated[str, Field(min_length=1, max_length=64), AfterValidator(_one_line)]
Name = Annotated[str, Field(min_length=1, max_length=128)]
ToolNames = Annotated[list[Name], Field(min_length=1, max_length=200)]


class TaskArguments(ToolArgs):
    """Task of `delegate_task` or `delegate_parallel`."""

    goal: Goal = Field(description="The task, and what to answer.")
    label: Label | None = Field(default=None, description="A short name.")
    context: str | None = Field(default=None, max_length=50_000, description="Context it needs.")
    tools: ToolNames | None = Field(
        default=None, description="Only these tools; default: all it may use."
    )
    read_only: bool = Field(default=False, description="Make no changes.")
    no_shell: bool = Field(default=False, description="Run no commands.")
    workspace_roots: list[PathText] | None = Field(
        default=None, min_length=1, max_length=20, description="Only these folders."
    )
    model: Name | None = Field(default=None, description="A model other than yours.")
    max_rounds: int | None = Field(default=None, ge=1, description="Maximum rounds.")
    timeout_s: float | None = Field(default=None, gt=0, description="Maximum seconds.")
    agent: Name | None = Field(default=None, description="Run as this agent.")


def labels_of(tasks: Sequence[TaskArguments]) -> list[str]:
    """Return a label for each task; given labels stay, even duplicate ones."""
    taken = {task.label for task in tasks if task.label is not None}
    labels = []
    for task in tasks:
        label = task.label
        if label is None:
            label = _free(short(task.goal), taken)
            taken.add(label)
        labels.append(label)
    return labels


def short(goal: str) -> str:
    """Return a label from the first words of a goal."""
    words = "".join(char if char.isprintable() else " " for char in goal).split()
    return " ".join(words)[:_LABEL_CHARS].rstrip() or "task"


def spec_of(task: TaskArguments, label: str, **further: Any) -> TaskSpec:
    """Return the task with the label; `further` are other fields of the spec."""
    goal = f"{task.goal}\n\n{_CONTEXT}\n{task.context}" if task.context else task.goal
    return TaskSpec(
        goal=goal,
        label=label,
        agent_id=task.agent,
        tools=None if task.tools is None else tuple(task.tools),
        read_only=task.read_only,
        no_shell=task.no_shell,
        workspace_roots=tuple(task.workspace_roots or ()),
        model=task.model,
        max_rounds=task.max_rounds,
        timeout_s=task.timeout_s,
        **further,
    )


def _free(label: str, taken: set[str]) -> str:
    """Return `label`, numbered if another task has it."""
    found, number = label, 2
    while found in taken:
        found = f"{label} ({number})"
        number += 1
    return found
