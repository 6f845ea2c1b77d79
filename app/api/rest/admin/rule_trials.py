"""Tests of rules on one call and on past calls."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

from pydantic import BaseModel, Field, model_validator

from app.agents.decision_replay import past_calls, workspace_of
from app.api.deps import Admin, ServiceDep
from app.api.errors import problems
from app.api.rest.admin.rules import DEFINITION, RuleWarning
from app.api.rest.body import Body, Identifier
from app.api.rest.examples import MOMENT, example
from app.api.rest.routing import routes_of
from app.api.service import Service
from app.core.errors import InvalidInput, NotFound, ToolNotFound
from app.core.field_problems import FieldError
from app.core.text import dump_json
from app.policy.decision import Decision
from app.policy.evaluator import decide
from app.policy.facts import CallFacts, never
from app.policy.risk.model import Verdict
from app.policy.rules.call_view import CallView
from app.policy.rules.compile import compile_rule
from app.policy.rules.definition import RuleDefinition
from app.policy.rules.dry_run import Effect, compare
from app.policy.rules.effect import RuleProbe, RuleReach, rule_match, view_of
from app.policy.rules.rule import Rule

router = routes_of("admin", below="/admin")

DRAFT = "draft"
MAX_SHOWN = 500
_DECISION: dict[str, Any] = {
    "verdict": "deny",
    "reason": "Nothing is pushed from here: open a pull request instead.",
    "risk": "medium",
    "rule_ids": ["denied_by_rule", "draft"],
    "covered_by": [],
    "floor": False,
    "opaque": False,
    "findings": [{"code": "draft", "segment": 0, "why": "Nothing is pushed from here"}],
}


_CALL: dict[str, Any] = {
    "operation_id": "op_7f3a9c000001",
    "tool_name": "bash",
    "arguments": {"command": "git push"},
    "session_id": "ses_1",
    "started_at": MOMENT,
    "masked": False,
}


class RuleTest(Body):
    """A call to decide, optionally with a rule that is not stored."""

    model_config = example(definition=DEFINITION, tool="bash", command="git push")

    definition: RuleDefinition | None = None
    tool: str = Field(min_length=1, max_length=128)
    arguments: dict[str, Any] | None = None
    command: str | None = Field(default=None, description='Short form of `{"command": …}`.')
    agent_id: Identifier | None = None
    session_id: Identifier | None = None

    @model_validator(mode="after")
    def _has_a_call(self) -> RuleTest:
        if (self.arguments is None) == (self.command is None):
            raise FieldError("set arguments or command", code="one_of", needed="arguments, command")
        return self


class Explained(BaseModel):
    """A decision with its reasons."""

    model_config = example(**_DECISION)

    verdict: Literal["allow", "ask", "deny"]
    reason: str
    risk: str
    rule_ids: list[str]
    covered_by: list[str]
    floor: bool
    opaque: bool
    findings: list[dict[str, Any]]


class RuleVoice(BaseModel):
    """Result of one rule for the call."""

    model_config = example(id="draft", decision="deny", match="yes", segments=[0])

    id: str
    decision: Literal["allow", "ask", "deny"]
    match: Literal["no", "maybe", "yes"]
    segments: list[int]


class RuleTestResult(BaseModel):
    """Decision of the rules and the risk analysis, without grants and hooks."""

    model_config = example(
        decision=_DECISION,
        without=None,
        segments=[{"argv": ["git", "push"], "text": "git push", "cwd": "/workspace"}],
        rules=[{"id": "draft", "decision": "deny", "match": "yes", "segments": [0]}],
    )

    decision: Explained
    without: Explained | None = Field(description="The decision without the given definition.")
    segments: list[dict[str, Any]] = Field(description="Commands that the shell would run.")
    rules: list[RuleVoice] = Field(description="Active rules for the tool.")


class DryRun(Body):
    """A rule to test against past calls."""

    model_config = example(definition=DEFINITION, last=500)

    definition: RuleDefinition
    last: int = Field(default=500, ge=1, le=2000, description="Number of newest calls.")
    instead_of: Identifier | None = Field(
        default=None, description="ID of the stored rule that it would replace."
    )


class Change(BaseModel):
    """Calls whose verdict would have been different."""

    model_config = example(
        before="allow",
        after="deny",
        calls=2,
        examples=[
            {
                "operation_id": "op_7f3a9c000001",
                "tool_name": "bash",
                "arguments": {"command": "git push"},
                "reason": "Nothing is pushed from here",
                "masked": False,
            }
        ],
    )

    before: str
    after: str
    calls: int
    examples: list[dict[str, Any]] = Field(description="Up to twenty, with redacted arguments.")


class TriedCall(BaseModel):
    """Past call, with redacted arguments."""

    operation_id: str
    tool_name: str
    arguments: dict[str, Any]
    session_id: str | None = None
    agent_id: str | None = None
    project_id: str | None = None
    started_at: str
    masked: bool = Field(description="Whether arguments are masked.")


class MatchedCall(TriedCall):
    """Past call that the rule matches."""

    model_config = example(**_CALL, before="allow", after="deny")

    before: Literal["allow", "ask", "deny"]
    after: Literal["allow", "ask", "deny"]


class NearMissedCall(TriedCall):
    """Past call that the rule does not match."""

    model_config = example(**_CALL, verdict="allow", missed=["argv"])

    verdict: Literal["allow", "ask", "deny"]
    missed: list[Literal["argv", "command", "fields", "paths", "urls", "scope"]] = Field(
        description="Conditions that the call does not meet."
    )


class ObstacleView(BaseModel):
    """Reason why calls that the rule matches keep their verdict."""

    model_config = example(code="denied_already", calls=3, rule_id="rul_2")

    code: str = Field(
        description="`floor`, `denied_already`, `asked_already`, `allowed_already`, "
        "`runs_already`, `rule_asks`, `setting_asks`, `rule_unresolved`, `invalid_rule`, "
        "`opaque`, `outside_command`, `other_commands` or `only_maybe`."
    )
    calls: int
    rule_id: str | None = Field(default=None, description="The other rule that is the reason.")


class DryRunResult(BaseModel):
    """Effect of the rule on the calls."""

    model_config = example(
        summary="Of 44 calls it would have prompted 1, allowed 41, denied 2; 2 would have changed",
        judged=44,
        matched=2,
        not_judged=0,
        unknowable=0,
        before={"allow": 43, "ask": 1, "deny": 0},
        after={"allow": 41, "ask": 1, "deny": 2},
        changes=[],
        warnings=[],
        matches=[],
        near_misses=[],
        obstacles=[],
    )

    summary: str
    judged: int
    matched: int = Field(description="Number of calls the rule matches.")
    not_judged: int = Field(
        description="Skipped calls: tools that no longer exist, or arguments that no longer fit."
    )
    unknowable: int = Field(
        description="Calls with masked arguments, which may be evaluated incorrectly."
    )
    before: dict[str, int]
    after: dict[str, int]
    changes: list[Change]
    warnings: list[RuleWarning]
    matches: list[MatchedCall] = Field(description="Up to twenty calls the rule matches.")
    near_misses: list[NearMissedCall] = Field(
        description="Up to ten calls of its tools that it does not match, the nearest first."
    )
    obstacles: list[ObstacleView] = Field(
        description="Why matched calls keep their verdict, the most frequent reason first."
    )


@router.post(
    "/rules/test",
    summary="Test a rule against one call",
    responses=problems(NotFound, ToolNotFound, body=True),
)
async def try_rule(body: RuleTest, service: ServiceDep, principal: Admin) -> RuleTestResult:
    """Scope `admin`. The call is not run, stored or counted."""
    facts = _facts(service, body)
    now = service.clock.time()
    rule = _draft(service, body.definition) if body.definition else None
    rule_set = service.rule_sets.with_rule(rule)
    sight = view_of(facts)
    voices = [
        _voice(known, sight)
        for known in rule_set.for_tool(facts.tool.name)
        if known.in_force(facts, now)
    ]
    without = decide(facts, rules=service.rule_sets.current(), now=now) if rule else None
    return RuleTestResult(
        decision=_explained(decide(facts, rules=rule_set, now=now)),
        without=_explained(without) if without else None,
        segments=[
            {"argv": list(item.argv), "text": item.text, "cwd": item.cwd}
            for item in sight.segments[:MAX_SHOWN]
        ],
        rules=voices[:MAX_SHOWN],
    )


@router.post(
    "/rules/dry-run", summary="Test a rule against past calls", responses=problems(body=True)
)
async def dry_run(body: DryRun, service: ServiceDep, principal: Admin) -> DryRunResult:
    """Scope `admin`. Both decisions ignore grants and hooks."""
    rule = _draft(service, body.definition)
    after = service.rule_sets.with_rule(
        rule if body.definition.enabled else None, instead_of=body.instead_of
    )
    calls, not_judged = await past_calls(
        *(service.database, service.registry.snapshot(), service.resolver, service.projects),
        body.last,
    )
    now = service.clock.time()
    before = service.rule_sets.current()
    others = {known.id: known for known in before.rules if known.id != body.instead_of}
    probe = RuleProbe(rule, body.definition, others, now)
    # Deciding thousands of commands takes a while and must not block the loop.
    effect = await asyncio.to_thread(compare, calls, before, after, DRAFT, now, probe)
    # The draft takes the place of the stored rule, so that it is not compared with itself.
    key = body.instead_of or DRAFT
    review = service.rule_sets.review(
        now,
        agents=service.governance.snapshot.agents,
        projects=[project.id for project in service.projects.list_all()],
        keys=[key],
        further={key: body.definition},
    )
    warned = await asyncio.to_thread(review)
    return _result(effect, probe.reach(), not_judged, warned[key])


def _draft(service: Service, definition: RuleDefinition) -> Rule:
    return compile_rule(DRAFT, definition, service.registry.snapshot().tools)


def _facts(service: Service, body: RuleTest) -> CallFacts:
    catalog = service.registry.snapshot()
    entry = catalog.lookup(body.tool)
    if entry is None:
        raise ToolNotFound(
            f"Tool not found: {body.tool}",
            tool_name=body.tool,
            suggestions=catalog.suggest(body.tool),
        )
    tool = entry.tool
    if body.command is not None and tool.shell is None:
        raise InvalidInput(
            f"{tool.name} does not run commands; set arguments instead", field="command"
        )
    if body.agent_id is not None:
        # A misspelled agent would be decided without the agent's own rules.
        service.agents.require(body.agent_id)
    raw = {tool.command_argument: body.command} if body.arguments is None else body.arguments
    resolved = service.resolver.resolve(body.agent_id)
    setting = resolved.states.get(tool.name)
    project = workspace_of(service.projects, None)
    return CallFacts(
        tool,
        tool.validate(dump_json(raw)),
        raw,
        cwd=project.root if project else "/",
        is_released=project.releases if project else never,
        agent_id=body.agent_id,
        session_id=body.session_id,
        asks=tool.name in resolved.confirmation,
        asks_by=setting.asks_by if setting else None,
    )


def _voice(rule: Rule, sight: CallView) -> RuleVoice:
    if rule.verdict is Verdict.ALLOW:
        segments = sorted(rule.covers(sight))
    else:
        at = rule.match(sight)[1]
        segments = [] if at is None else [at]
    return RuleVoice(
        id=rule.id,
        decision=rule.verdict.value,
        match=rule_match(rule, sight),
        segments=segments,
    )


def _explained(decision: Decision) -> Explained:
    return Explained(
        verdict=decision.verdict.value,
        reason=decision.reason,
        risk=decision.risk,
        rule_ids=list(decision.rule_ids),
        covered_by=list(decision.covered_by),
        floor=decision.floor,
        opaque=decision.opaque,
        findings=[
            {"code": found.code, "segment": found.segment, "why": found.why}
            for found in (*decision.findings, *decision.released)
        ][:MAX_SHOWN],
    )


def _result(
    effect: Effect, reach: RuleReach, not_judged: int, warned: list[dict[str, str]]
) -> DryRunResult:
    changed = sum(effect.changes.values())
    after = effect.after
    summary = (
        f"Of {effect.judged} calls it would have prompted {after[Verdict.ASK]}, allowed"
        f" {after[Verdict.ALLOW]}, denied {after[Verdict.DENY]}; {changed} would have changed"
    )
    if effect.unknowable:
        summary += (
            f"; {effect.unknowable} have masked arguments, which may be evaluated incorrectly"
        )
    return DryRunResult(
        summary=summary,
        judged=effect.judged,
        matched=reach.matched,
        not_judged=not_judged,
        unknowable=effect.unknowable,
        before={str(key): count for key, count in effect.before.items()},
        after={str(key): count for key, count in effect.after.items()},
        changes=[
            Change(
                before=kind.split("_to_")[0],
                after=kind.split("_to_")[1],
                calls=count,
                examples=effect.examples.get(kind, []),
            )
            for kind, count in effect.changes.items()
        ],
        warnings=[RuleWarning(**warning) for warning in warned],
        matches=[
            MatchedCall(**call.to_dict(), before=was.verdict.value, after=would.verdict.value)
            for call, was, would in reach.matches
        ],
        near_misses=[
            NearMissedCall(
                **miss.call.to_dict(), verdict=miss.verdict.value, missed=list(miss.missed)
            )
            for miss in reach.misses
        ],
        obstacles=[
            ObstacleView(code=obstacle.code, calls=count, rule_id=obstacle.rule_id)
            for obstacle, count in reach.obstacles.most_common()
        ],
    )
