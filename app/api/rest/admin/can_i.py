"""Preview of the decision about one call, without running it."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field

from app.api.deps import Admin, ServiceDep
from app.api.errors import problems
from app.api.rest.admin.resolve import RiskFinding
from app.api.rest.body import Body, Identifier
from app.api.rest.examples import example
from app.api.rest.routing import routes_of
from app.core.errors import NotFound
from app.execution.projects import DEFAULT_PROJECT

router = routes_of("admin", below="/admin")
_RULE: dict[str, Any] = {
    "id": "rul_1",
    "decision": "allow",
    "match": "yes",
    "applies": False,
    "why_not": "scope",
    "tool": "bash",
    "conditions": {"argv": ["rm", "-rf", "build"]},
    "scope": "project:web",
    "expires_at": None,
    "justification": "",
}


class CallQuestion(Body):
    """A hypothetical call."""

    model_config = example(tool="bash", arguments={"command": "rm -rf build"}, agent_id="writer")

    tool: str = Field(min_length=1, max_length=128)
    arguments: dict[str, Any] = Field(default_factory=dict)
    agent_id: Identifier | None = None
    project_id: Identifier | None = Field(
        default=None, description="Defaults to the session's project, else the default project."
    )
    session_id: Identifier | None = Field(
        default=None, description="Session whose files, folder and standing approvals apply."
    )


class MatchingRule(BaseModel):
    """Stored rule that matches the call, also one that does not apply to it."""

    model_config = example(**_RULE)

    id: str
    decision: Literal["allow", "ask", "deny"]
    match: Literal["maybe", "yes"] = Field(
        description="`maybe` if it is only known when the command runs."
    )
    applies: bool
    why_not: Literal["scope", "disabled", "expired"] | None = Field(
        description="Why the rule does not apply: it is for other agents, projects or sessions, "
        "it is disabled, or it has expired."
    )
    tool: str
    conditions: dict[str, Any]
    scope: str
    expires_at: str | None
    justification: str


class ReleasingGrant(BaseModel):
    """Standing approval that releases the call."""

    model_config = example(
        id="grt_1",
        scope="always",
        covers="the command `rm -rf build` in /workspace",
        created_by="ann",
        expires_at=None,
    )

    id: str
    scope: str
    covers: str
    created_by: str
    expires_at: str | None


class CallDecision(BaseModel):
    """Decision that the service would make about a call, with its reasons."""

    model_config = example(
        tool="bash",
        verdict="ask",
        status=None,
        code=None,
        reason="rm deletes files permanently",
        risk="high",
        rules=["delete"],
        covered_by=[],
        grant_id=None,
        floor=False,
        findings=[{"code": "delete", "segment": 0, "why": "rm deletes files permanently"}],
        segments=["rm -rf build"],
        targets=["/workspace/build"],
        hooks=[],
        matching_rules=[_RULE],
        grant=None,
    )

    tool: str
    verdict: Literal["allow", "ask", "deny"]
    status: str | None = Field(description="Status of a call that would not run.")
    code: str | None
    reason: str
    risk: Literal["low", "medium", "high", "critical"] | None
    rules: list[str] = Field(description="Rules and findings that apply, strictest first.")
    covered_by: list[str] = Field(default_factory=list, description="Rules that allow the call.")
    grant_id: str | None = Field(
        default=None, description="Standing approval that replaces a confirmation."
    )
    floor: bool = Field(
        default=False, description="Whether the call is denied regardless of rules."
    )
    findings: list[RiskFinding]
    segments: list[str]
    targets: list[str]
    hooks: list[str] = Field(
        description="Hooks that would also be called; this check does not call them."
    )
    matching_rules: list[MatchingRule]
    grant: ReleasingGrant | None


@router.post(
    "/can-i", summary="Preview the decision about a call", responses=problems(NotFound, body=True)
)
async def decide_call(body: CallQuestion, service: ServiceDep, principal: Admin) -> CallDecision:
    """Scope `admin`. Checks governance, the tool's schema, rules, risk and standing approvals.

    The call is not run, counted or recorded. Hooks and limits are not checked.
    """
    log, project_id, agent_id = None, body.project_id, body.agent_id
    if body.session_id is not None:
        session = await service.sessions.get(body.session_id)
        if session is None:
            raise NotFound(f"Session {body.session_id!r} not found", session_id=body.session_id)
        log = session.log
        project_id = project_id or session.project_id
        agent_id = agent_id or session.agent_id
    decision = service.decision_preview.of(
        body.tool,
        body.arguments,
        agent_id=agent_id,
        project_id=project_id or DEFAULT_PROJECT,
        log=log,
    )
    return CallDecision(**decision)
