"""`team_agent`: a team of sub-agents with dependent tasks."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from app.core.field_problems import FieldError
from app.domain.delegation import DELEGATION, TaskSpec
from app.toolkit.context import ToolContext
from app.toolkit.result import ToolResult
from app.toolkit.tool import Alias, PermissionClass, SideEffectScope, ToolArgs, tool
from app.tools.delegation.reports import all_answers, begun
from app.tools.delegation.returns import TEAM_AGENT_RESULT
from app.tools.delegation.services import delegation_of
from app.tools.delegation.tasks import LONGEST_S, Goal, Label, Name, ToolNames

REVIEW = "review"
_REVIEW_GOAL = (
    "Review each of these answers of the team {team!r}. For each, say whether you approve it; if"
    " not, say what is wrong and how to correct it."
)


class Member(ToolArgs):
    name: Label
    role: str = Field(min_length=1, max_length=10_000, pattern=r"\S")
    tools: ToolNames | None = None
    agent: Name | None = None


class TeamTask(ToolArgs):
    name: Label
    member: Label
    instruction: Goal
    after: list[Label] = Field(default=[], max_length=50)


class TeamAgentArgs(ToolArgs):
    name: Label = Field(description="Name of the team.")
    members: list[Member] = Field(
        min_length=1,
        max_length=50,
        description="Members: a name, a role in words; tools and agent as in delegate_task.",
    )
    tasks: list[TeamTask] = Field(
        min_length=1,
        max_length=50,
        description="Tasks by member; in mode graph, `after` lists the task's dependencies.",
    )
    mode: Literal["pipeline", "parallel", "graph"] = Field(
        default="graph",
        description="pipeline: each task after the previous; parallel: concurrently.",
    )
    review: Label | None = Field(
        default=None, description="Member who reviews every answer at the end."
    )
    background: bool = Field(
        default=False, description="Return the IDs immediately instead of waiting for the answers."
    )

    @model_validator(mode="after")
    def _fits_together(self) -> TeamAgentArgs:
        members, tasks = (
            [member.name for member in self.members],
            [task.name for task in self.tasks],
        )
        _differ("members", members)
        _differ("tasks", tasks)
        if self.review is not None and self.review not in members:
            raise FieldError(
                f"review: no member {self.review!r}; members are {_listed(members)}",
                code="unknown_member",
            )
        if self.review is not None and REVIEW in tasks:
            raise FieldError(
                f"tasks: the name {REVIEW!r} is reserved for the review; use another",
                code="reserved_name",
            )
        for at, task in enumerate(self.tasks):
            if task.member not in members:
                there = _listed(members)
                raise FieldError(
                    f"tasks[{at}].member: no member {task.member!r}; members are {there}",
                    code="unknown_member",
                )
            if task.after and self.mode != "graph":
                raise FieldError(
                    f"tasks[{at}].after: only valid in mode graph, not {self.mode}",
                    code="only_with",
                    given=f"tasks[{at}].after",
                    needed="graph",
                )
            missing = [name for name in task.after if name not in tasks or name == task.name]
            if missing:
                raise FieldError(
                    f"tasks[{at}].after: no other task {missing[0]!r}", code="unknown_task"
                )
        return self


_WORKER = "worker"


def _as_team_create(arguments: dict[str, Any]) -> dict[str, Any]:
    """Convert tasks with a prompt and no member: each is done by one shared member."""
    tasks = arguments.get("tasks")
    if not isinstance(tasks, list) or "members" in arguments:
        return arguments
    if not any(isinstance(task, dict) and "prompt" in task for task in tasks):
        return arguments
    member = {"name": _WORKER, "role": "Works on one task of the team and answers with its result."}
    numbered = [_as_team_task(task, at) for at, task in enumerate(tasks, start=1)]
    return {"mode": "parallel", **arguments, "members": [member], "tasks": numbered}


def _as_team_task(task: Any, at: int) -> Any:
    if not isinstance(task, dict) or "prompt" not in task:
        return task
    rest = {name: value for name, value in task.items() if name not in ("prompt", "description")}
    # A description is free text, a label one short line: the description starts the instruction.
    described = task.get("description")
    heading = f"{described}\n\n" if isinstance(described, str) and described.strip() else ""
    prompt = task["prompt"]
    instruction = f"{heading}{prompt}" if isinstance(prompt, str) and prompt.strip() else prompt
    return {"name": f"task {at}", "member": _WORKER, "instruction": instruction, **rest}


@tool(
    category="agent",
    toolset="delegation",
    permission=PermissionClass.EXTERNAL,
    side_effect=SideEffectScope.NETWORK,
    kind="other",
    requires=(DELEGATION,),
    delegates=True,
    routing_hint="main-process-proxy",
    timeout_s=LONGEST_S,
    tags=("agents", "team"),
    aliases=(Alias("TeamAgentTool", adapt=_as_team_create, families=("jarvis",)),),
    return_schema=TEAM_AGENT_RESULT,
)
async def team_agent(args: TeamAgentArgs, ctx: ToolContext) -> ToolResult:
    """Run a team of sub-agents with roles on tasks that depend on each other.

    A task receives the answers of its dependencies, and is skipped if one of them fails. With
    review, one member reviews all answers at the end. Returns the overall status, and every answer
    in the order of the tasks.
    """
    batch = await delegation_of(ctx).start(
        specs_of(args), ctx, kind="team", name=args.name, background=args.background
    )
    return begun(batch) if batch.status == "running" else all_answers(batch)


def specs_of(args: TeamAgentArgs) -> list[TaskSpec]:
    """Return the tasks of a team with their dependencies, the review last."""
    members = {member.name: member for member in args.members}
    specs: list[TaskSpec] = []
    for task in args.tasks:
        after = tuple(task.after)
        if args.mode == "pipeline" and specs:
            after = (specs[-1].label,)
        specs.append(_spec(args.name, members[task.member], task.name, task.instruction, after))
    if args.review is not None:
        goal, every = _REVIEW_GOAL.format(team=args.name), tuple(spec.label for spec in specs)
        specs.append(_spec(args.name, members[args.review], REVIEW, goal, every))
    return specs


def _spec(team: str, member: Member, label: str, goal: str, after: tuple[str, ...]) -> TaskSpec:
    role = f"You are {member.name!r}, a member of the team {team!r}. Your role: {member.role}"
    return TaskSpec(
        goal=goal,
        label=label,
        agent_id=member.agent,
        instructions=role,
        tools=None if member.tools is None else tuple(member.tools),
        after=after,
    )


def _differ(field: str, names: list[str]) -> None:
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise FieldError(
            f"{field}: duplicate name {twice[0]!r}", code="repeated", given=f"{field}.name"
        )


def _listed(names: list[str]) -> str:
    return ", ".join(map(repr, names))
