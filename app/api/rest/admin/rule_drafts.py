"""Drafts of rules: recent calls, and a rule for one of them."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated, Any

import orjson
from fastapi import Query
from pydantic import BaseModel, Field, model_validator

from app.agents.confirmation_queries import ConfirmationArchive
from app.agents.decision_replay import past_calls, workspace_of
from app.api.deps import Admin, ServiceDep
from app.api.errors import problems
from app.api.rest.admin.rule_trials import TriedCall
from app.api.rest.body import Body, Identifier
from app.api.rest.examples import MOMENT, example
from app.api.rest.routing import routes_of
from app.api.service import Service
from app.core.errors import InvalidInput, NotFound, ToolNotFound
from app.core.field_problems import FieldError
from app.core.text import dump_json
from app.policy.facts import CallFacts
from app.policy.rules.compile import matches
from app.policy.rules.definition import RuleDefinition, Verb
from app.policy.rules.draft import draft_of, example_of
from app.policy.rules.effect import view_of
from app.policy.rules.rule import build_rule
from app.policy.rules.words import YES
from app.toolkit.tool import Tool

router = routes_of("admin", below="/admin")
_CALL: dict[str, Any] = {
    "operation_id": "op_7f3a9c000001",
    "tool_name": "bash",
    "arguments": {"command": "rm -rf build"},
    "session_id": "ses_1",
    "started_at": MOMENT,
    "masked": False,
}


class RecentCall(TriedCall):
    """Call that a rule can be drafted from."""

    model_config = example(**_CALL)


class RecentCalls(BaseModel):
    """Newest calls first."""

    model_config = example(calls=[_CALL])

    calls: list[RecentCall]


class DraftSource(Body):
    """The call to draft a rule for: exactly one of its ID, a confirmation of it, or its tool and
    arguments.
    """

    model_config = example(operation_id="op_7f3a9c000001", decision="allow")

    operation_id: Identifier | None = None
    confirmation_id: Identifier | None = None
    tool: str | None = Field(default=None, min_length=1, max_length=128)
    arguments: dict[str, Any] | None = None
    decision: Verb | None = Field(
        default=None,
        description="Defaults to `deny` for a declined confirmation, else to `allow`.",
    )

    @model_validator(mode="after")
    def _names_one_call(self) -> DraftSource:
        if [self.operation_id, self.confirmation_id, self.tool].count(None) != 2:
            raise FieldError(
                "set operation_id, confirmation_id or tool",
                code="one_of",
                needed="operation_id, confirmation_id, tool",
            )
        return self


class RuleDraft(BaseModel):
    """Rule as narrow as the call. It is not stored."""

    model_config = example(
        definition={
            "tool": "bash",
            "match": {"argv": ["rm", "-rf", "build"]},
            "decision": "allow",
            "examples": {"match": ["rm -rf build"]},
        },
        tool="bash",
        arguments={"command": "rm -rf build"},
        agent_id=None,
        project_id="default",
    )

    definition: dict[str, Any]
    tool: str
    arguments: dict[str, Any] = Field(description="Arguments of the call, redacted.")
    agent_id: str | None
    project_id: str | None


class _Source:
    """Call that a draft is made for."""

    def __init__(self, tool: str, arguments: Any) -> None:
        self.tool = tool
        self.arguments: dict[str, Any] = arguments if isinstance(arguments, dict) else {}
        self.agent_id: str | None = None
        self.project_id: str | None = None
        self.decision: Verb = "allow"
        self.message = ""


@router.get("/rules/recent-calls", summary="List calls to draft a rule from", responses=problems())
async def recent_calls(
    service: ServiceDep,
    principal: Admin,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> RecentCalls:
    """Scope `admin`. Newest first, of all sessions, with redacted arguments.

    Calls of tools that no longer exist are omitted.
    """
    calls, _ = await past_calls(
        *(service.database, service.registry.snapshot(), service.resolver, service.projects), limit
    )
    return RecentCalls(calls=[RecentCall(**call.to_dict()) for call in calls])


@router.post(
    "/rules/draft",
    summary="Draft a rule for a call",
    responses=problems(NotFound, ToolNotFound, body=True),
)
async def draft_rule(body: DraftSource, service: ServiceDep, principal: Admin) -> RuleDraft:
    """Scope `admin`. The draft matches this call and little else; nothing is stored.

    Words of a command that are masked, or known only when it runs, become `*`.
    """
    source = await _source(service, body)
    entry = service.registry.snapshot().lookup(source.tool)
    if entry is None:
        raise ToolNotFound(f"Tool not found: {source.tool}", tool_name=source.tool)
    facts = _facts(service, entry.tool, source)
    decision = body.decision or source.decision
    definition = draft_of(view_of(facts), decision, note=source.message)
    shown = example_of(facts.raw, facts.command if entry.tool.shell else None)
    if shown is not None and _is_matched(definition, shown, entry.tool):
        definition["examples"] = {"match": [shown]}
    return RuleDraft(
        definition=definition,
        tool=entry.tool.name,
        arguments=dict(facts.raw),
        agent_id=source.agent_id,
        project_id=source.project_id,
    )


async def _source(service: Service, body: DraftSource) -> _Source:
    if body.tool is not None:
        return _Source(body.tool, body.arguments or {})
    if body.operation_id is not None:
        row = await ConfirmationArchive(service.database).call(body.operation_id)
        if row is None:
            raise NotFound(f"Call {body.operation_id!r} not found", operation_id=body.operation_id)
        source = _Source(row.tool_name, orjson.loads(row.arguments))
        source.agent_id = row.agent_id
        source.project_id = await _project_of(service, row.session_id)
        return source
    asked = await service.archive.confirmation(str(body.confirmation_id))
    if asked is None:
        raise NotFound(
            f"Confirmation {body.confirmation_id!r} not found",
            confirmation_id=body.confirmation_id,
        )
    source = await _source_of_request(service, asked.operation_id, asked.tool_name, asked.request)
    source.agent_id = asked.agent_id
    source.project_id = await _project_of(service, asked.session_id)
    if asked.status == "declined":
        source.decision, source.message = "deny", asked.message or ""
    return source


async def _source_of_request(
    service: Service, operation_id: str, tool_name: str, request: str
) -> _Source:
    """Return the call that a confirmation was about, as its request showed it."""
    subject = orjson.loads(request).get("subject", {})
    if subject.get("type") != "command":
        return _Source(tool_name, subject.get("args"))
    entry = service.registry.snapshot().lookup(tool_name)
    name = entry.tool.command_argument if entry else "command"
    row = await ConfirmationArchive(service.database).call(operation_id)
    known = orjson.loads(row.arguments) if row is not None else {}
    return _Source(tool_name, {**known, name: subject.get("command", "")})


async def _project_of(service: Service, session_id: str) -> str | None:
    session = await service.archive.session_row(session_id)
    return None if session is None else session.project_id


def _facts(service: Service, tool: Tool, source: _Source) -> CallFacts:
    """Return the facts of a call, also of one whose masked arguments are no longer valid."""
    project = workspace_of(service.projects, source.project_id)
    validated: Any = source.arguments
    with suppress(InvalidInput):
        validated = tool.validate(dump_json(source.arguments))
    return CallFacts(
        tool,
        validated,
        source.arguments,
        cwd=project.root if project else "/",
        agent_id=source.agent_id,
        project_id=project.id if project else None,
    )


def _is_matched(definition: dict[str, Any], shown: str | dict[str, Any], tool: Tool) -> bool:
    """Return whether the draft matches its call, so that the call can be its example."""
    read = RuleDefinition.model_validate({**definition, "justification": "-"})
    return matches(build_rule("draft", read), shown, tool) is YES
