"""Rules that allow, ask or deny calls by their arguments."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Literal, Self

from fastapi import Body as Sent
from fastapi import Query
from pydantic import BaseModel, Field

from app.api.deps import Admin, ServiceDep
from app.api.errors import problems
from app.api.rest.admin.crud import Crud, start_after
from app.api.rest.admin.versions import ExpectedVersion
from app.api.rest.body import Body, PathId
from app.api.rest.examples import MOMENT, example
from app.api.rest.routing import routes_of
from app.api.service import Service
from app.core.errors import AlreadyExists, NotFound
from app.policy.rules.compile import compile_rule, read_definition
from app.policy.rules.definition import Conditions, Examples, Moment, RuleDefinition, Verb
from app.resolver.policy_sets import LoadedRule, rule_state

router = routes_of("admin", below="/admin")
rules = Crud(router, "rules", "rule_id")

DEFINITION: dict[str, Any] = {
    "tool": "bash",
    "match": {"argv": ["git", "push", "..."]},
    "decision": "deny",
    "justification": "Nothing is pushed from here: open a pull request instead.",
    "examples": {"match": ["git -C app push"], "not_match": ["git status"]},
}
_RULE: dict[str, Any] = {
    "id": "rul_1",
    "definition": DEFINITION,
    "source": "database",
    "state": "active",
    "version": 1,
    "created_by": "ann",
    "created_at": MOMENT,
    "updated_at": MOMENT,
    "problems": [],
    "warnings": [],
    "hits": 3,
    "last_hit_at": MOMENT,
    "unused_days": 0,
}


class RuleProblem(BaseModel):
    """Reason why a rule is invalid."""

    model_config = example(
        path="examples.match[0]", message="'git push' is not matched", code="example_failed"
    )

    path: str
    message: str
    code: str


class RuleWarning(BaseModel):
    """Warning about a valid rule."""

    model_config = example(
        code="unreachable",
        message="rul_2 says deny to everything it matches",
        rule_id="rul_2",
    )

    code: str
    message: str
    rule_id: str | None = Field(default=None, description="The other rule that it is about.")


class RuleView(BaseModel):
    """A rule in its current version. An invalid rule is returned as stored."""

    model_config = example(**_RULE)

    id: str
    definition: Any = Field(description="The definition as stored.")
    source: Literal["database", "file"] = Field(
        description="Rules from the rules file can only be changed in that file."
    )
    state: Literal["active", "disabled", "expired", "invalid"] = Field(
        description="An invalid ask or deny rule asks for every call of its tools; an invalid "
        "allow rule has no effect."
    )
    version: int
    created_by: str
    created_at: str
    updated_at: str
    problems: list[RuleProblem]
    warnings: list[RuleWarning]
    hits: int = Field(
        description="Number of matches; for rules of the file, since the service started."
    )
    last_hit_at: str | None
    unused_days: int = Field(description="Full days since its last match, or since it was created.")

    @classmethod
    def of(
        cls,
        item: LoadedRule,
        warnings: list[dict[str, str]],
        counted: tuple[int, str | None],
        now: float,
    ) -> Self:
        stored = item.stored
        return cls(
            id=stored.id,
            definition=stored.body,
            source=stored.source,
            state=rule_state(item, now),
            version=stored.version,
            created_by=stored.created_by,
            created_at=stored.created_at,
            updated_at=stored.updated_at,
            problems=[RuleProblem(**problem) for problem in item.problems],
            warnings=[RuleWarning(**warning) for warning in warnings],
            hits=counted[0],
            last_hit_at=counted[1],
            unused_days=_days_since(counted[1] or stored.created_at, now),
        )


class RulePage(BaseModel):
    """Rules of the rules file, then the others by age."""

    model_config = example(rules=[_RULE], total=1, next_after=None)

    rules: list[RuleView]
    total: int
    next_after: str | None = Field(default=None, description="Cursor: `after` of the next page.")


class RuleChange(Body):
    """Fields to change; omitted fields stay. `match` and `examples` are replaced as a whole."""

    model_config = example(enabled=False)

    tool: str | None = None
    match: Conditions | None = None
    decision: Verb | None = None
    justification: str | None = None
    examples: Examples | None = None
    scope: str | None = None
    expires_at: Moment | None = Field(default=None, description="Null if it does not expire.")
    enabled: bool | None = None

    def onto(self, body: Any) -> dict[str, Any]:
        """Return a definition with the changes."""
        given = self.model_dump(mode="json", by_alias=True, exclude_unset=True)
        changed = {**(body if isinstance(body, dict) else {}), **given}
        return {
            key: value
            for key, value in changed.items()
            if value is not None or (key in given and key != "expires_at")
        }


@router.get("/rules", summary="List rules", responses=problems())
async def list_rules(
    service: ServiceDep,
    principal: Admin,
    state: Annotated[
        Literal["active", "disabled", "expired", "invalid"] | None,
        Query(description="Only these rules."),
    ] = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
    after: Annotated[
        str | None, Query(max_length=128, description="`next_after` of the previous page.")
    ] = None,
) -> RulePage:
    """Scope `admin`. Each rule has its problems, warnings and number of matches.

    422: the rule `after` no longer exists; list again without it.
    """
    loaded, now = service.rule_sets.loaded(), service.clock.time()
    # The state of the rule `after` may have changed, so use its position among all rules.
    start = start_after(after, [item.stored.id for item in loaded], "rule")
    fits = [state is None or rule_state(item, now) == state for item in loaded]
    rest = [item for item, fit in zip(loaded[start:], fits[start:], strict=True) if fit]
    page = rest[:limit]
    return RulePage(
        rules=await _views(service, page, now),
        total=sum(fits),
        next_after=page[-1].stored.id if len(rest) > limit else None,
    )


@rules.create("Create a rule", AlreadyExists)
async def create_rule(
    body: Annotated[RuleDefinition, Sent(openapi_examples={"deny": {"value": DEFINITION}})],
    service: ServiceDep,
    principal: Admin,
) -> RuleView:
    """Scope `admin`. Its examples are checked first. It applies from the next call on."""
    compile_rule("new", body, service.registry.snapshot().tools)
    stored = await service.rules.create(body.to_json(), actor=principal.user_id)
    return await _shown(service, stored.id)


@rules.read("Get a rule")
async def get_rule(rule_id: PathId, service: ServiceDep, principal: Admin) -> RuleView:
    """Scope `admin`."""
    service.rules.require(rule_id)
    return await _shown(service, rule_id)


@rules.change("Update a rule")
async def change_rule(
    rule_id: PathId,
    body: RuleChange,
    service: ServiceDep,
    principal: Admin,
    expected: ExpectedVersion,
) -> RuleView:
    """Scope `admin`. The entire rule is checked again, including its examples."""
    tools = service.registry.snapshot().tools

    def change(present: Any) -> dict[str, Any]:
        definition = read_definition(body.onto(present))
        compile_rule(rule_id, definition, tools)
        return definition.to_json()

    await service.rules.change(rule_id, change, actor=principal.user_id, expected=expected)
    return await _shown(service, rule_id)


@rules.remove("Delete a rule")
async def remove_rule(
    rule_id: PathId, service: ServiceDep, principal: Admin, expected: ExpectedVersion
) -> RuleView:
    """Scope `admin`. Returns the deleted rule."""
    service.rules.require(rule_id)
    gone = await _shown(service, rule_id)
    await service.rules.remove(rule_id, actor=principal.user_id, expected=expected)
    return gone


async def _shown(service: Service, rule_id: str) -> RuleView:
    found = [item for item in service.rule_sets.loaded() if item.stored.id == rule_id]
    if not found:
        raise NotFound(f"Rule {rule_id!r} not found", rule_id=rule_id)
    return (await _views(service, found, service.clock.time()))[0]


async def _views(service: Service, chosen: Sequence[LoadedRule], now: float) -> list[RuleView]:
    keys = [item.stored.id for item in chosen]
    review = service.rule_sets.review(
        now,
        agents=service.governance.snapshot.agents,
        projects=[project.id for project in service.projects.list_all()],
        keys=keys,
    )
    # Comparing thousands of rules would block the loop.
    warnings = await asyncio.to_thread(review)
    counted = await service.rules.counted(keys)
    return [
        RuleView.of(
            item, warnings.get(item.stored.id, []), counted.get(item.stored.id, (0, None)), now
        )
        for item in chosen
    ]


def _days_since(moment: str, now: float) -> int:
    """Return full days since a time; 0 for an unknown one, as for unmatched rules of the file."""
    if not moment:
        return 0
    return max(0, int((now - datetime.fromisoformat(moment).timestamp()) // 86_400))
