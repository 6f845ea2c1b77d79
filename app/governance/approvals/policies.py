"""Approval policies: which requests need which approvers, how many, and how long they stay open.

The enabled policies are tried by position, and the first that applies decides. Without one, the
owner of the session and administrators may answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any

import orjson

from app.core.clock import Clock, isoformat
from app.core.errors import AlreadyExists, InvalidInput, NotFound
from app.db.writer import DatabaseWriter, Transaction
from app.domain.owners import SessionOwner
from app.governance.approvals.approver import ApprovalTerms, TermsStep
from app.governance.approvals.groups import ApproverGroupStore
from app.governance.audit.log import AuditLog
from app.governance.config_table import ConfigSchema, ConfigTable
from app.governance.config_versions import ConfigVersions
from app.governance.identity.token_rules import DEFAULT_AGENT

APPROVAL_POLICIES = "approval_policies"
MAX_STEPS = 10
MAX_QUORUM = 10
Names = tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class PolicySelector:
    """Requests that a policy applies to; None matches all.

    Attributes:
        agents: agent IDs; `default` for calls without an agent.
        tools: names, with `*` and `?`.
        risks: `low`, `medium`, `high` or `critical`.
        owners: owners of sessions.
    """

    agents: Names = None
    projects: Names = None
    tools: Names = None
    risks: Names = None
    owners: Names = None

    def covers(self, owner: SessionOwner, tool_name: str, risk: str) -> bool:
        """Return whether the policy applies to a request."""
        return (
            _lists(self.agents, owner.agent_id or DEFAULT_AGENT)
            and _lists(self.projects, owner.project_id)
            and _lists(self.risks, risk)
            and _lists(self.owners, owner.user_id)
            and (
                self.tools is None or any(fnmatchcase(tool_name, pattern) for pattern in self.tools)
            )
        )


@dataclass(frozen=True, slots=True)
class PolicyStep:
    """Approvers of a policy.

    Attributes:
        groups: IDs of groups.
        owner: the owner of the session may answer too.
        after_s: seconds after the request from which they may answer.
    """

    groups: tuple[str, ...] = ()
    owner: bool = False
    after_s: float = 0.0


@dataclass(frozen=True, slots=True)
class ApprovalPolicy:
    """Who answers the requests that a selector covers.

    Attributes:
        position: order of the policies; the lowest is tried first.
        expires_in_s: lifetime of a request in seconds; 0 for no end, None for the service's
            setting.
        context_turns: turns of the conversation that approvers may read.
    """

    id: str
    name: str
    position: int = 100
    enabled: bool = True
    applies_to: PolicySelector = PolicySelector()
    steps: tuple[PolicyStep, ...] = field(default=())
    quorum: int = 1
    not_requester: bool = False
    expires_in_s: float | None = None
    context_turns: int = 0
    version: int = 1
    created_at: str = ""
    updated_at: str = ""

    @property
    def is_strict(self) -> bool:
        """Return whether an approval of one person for later calls would evade the policy."""
        return self.quorum > 1 or self.not_requester

    def terms(self, requester: str | None, now: float) -> ApprovalTerms:
        """Return what the policy requires of a request that is opened now."""
        return ApprovalTerms(
            policy_id=self.id,
            policy=self.name,
            requester=requester,
            steps=tuple(
                TermsStep(step.groups, step.owner, now + step.after_s) for step in self.steps
            ),
            quorum=self.quorum,
            not_requester=self.not_requester,
            context_turns=self.context_turns,
        )

    def shown(self) -> dict[str, Any]:
        """Return the fields for the audit."""
        selector = asdict(self.applies_to)
        return {
            "name": self.name,
            "position": self.position,
            "enabled": self.enabled,
            "applies_to": {
                key: None if names is None else list(names) for key, names in selector.items()
            },
            "steps": [
                {"groups": list(step.groups), "owner": step.owner, "after_s": step.after_s}
                for step in self.steps
            ],
            "quorum": self.quorum,
            "not_requester": self.not_requester,
            "expires_in_s": self.expires_in_s,
            "context_turns": self.context_turns,
        }


class ApprovalPolicyStore:
    """Creates, changes and deletes policies, and caches them in memory.

    Attributes:
        has_strict: an enabled policy is strict.
    """

    def __init__(
        self,
        db: DatabaseWriter,
        clock: Clock,
        audit: AuditLog,
        changes: ConfigVersions,
        groups: ApproverGroupStore,
    ) -> None:
        self._clock = clock
        self._groups = groups
        self._table = ConfigTable(db, audit, changes, _SCHEMA, self._loaded)
        self._active: tuple[ApprovalPolicy, ...] = ()
        self.has_strict = False

    async def load(self) -> None:
        """Load the stored policies, including changes by other processes."""
        await self._table.load()

    def get(self, policy_id: str) -> ApprovalPolicy:
        """Return a policy.

        Raises:
            NotFound: the policy does not exist.
        """
        return self._table.get(policy_id)

    def list_all(self) -> list[ApprovalPolicy]:
        """Return every policy, by position."""
        return list(self._table.items.values())

    def covering(self, owner: SessionOwner, tool_name: str, risk: str) -> ApprovalPolicy | None:
        """Return the policy that applies to a request."""
        for policy in self._active:
            if policy.applies_to.covers(owner, tool_name, risk):
                return policy
        return None

    async def create(self, policy: ApprovalPolicy, *, actor: str) -> ApprovalPolicy:
        """Store a new policy.

        Raises:
            InvalidInput: a field is invalid; names it.
            AlreadyExists: a policy has the ID or the name.
        """
        moment = isoformat(self._clock.now())
        made = replace(policy, version=1, created_at=moment, updated_at=moment)

        def add(transaction: Transaction) -> None:
            if made.id in self._table.stored(transaction):
                raise AlreadyExists(f"Policy {made.id!r} already exists", field="id")
            self._check(transaction, made)
            self._table.insert(transaction, made)
            self._table.note(transaction, made.id, actor, None, made.shown())

        await self._table.write(add)
        return made

    async def change(
        self,
        policy_id: str,
        fields: Mapping[str, Any],
        *,
        actor: str,
        expected: int | None = None,
    ) -> ApprovalPolicy:
        """Change fields of a policy. Open requests keep the terms that they were opened with.

        Raises:
            NotFound: the policy does not exist.
            InvalidInput: a field is invalid; names it.
            AlreadyExists: another policy has the name.
            VersionMismatch: it has changed since `expected` was read.
        """
        moment = isoformat(self._clock.now())

        def write(transaction: Transaction) -> None:
            before = self._table.current(transaction, policy_id, expected)
            after = replace(before, **fields)
            if after == before:
                return
            self._check(transaction, after)
            after = replace(after, version=before.version + 1, updated_at=moment)
            self._table.update(transaction, after)
            self._table.note(transaction, policy_id, actor, before.shown(), after.shown())

        await self._table.write(write)
        return self.get(policy_id)

    async def remove(
        self, policy_id: str, *, actor: str, expected: int | None = None
    ) -> ApprovalPolicy:
        """Delete a policy and return it. Open requests keep their terms.

        Raises:
            NotFound, VersionMismatch: see `change`.
        """
        return await self._table.remove(policy_id, actor=actor, expected=expected)

    def _check(self, transaction: Transaction, policy: ApprovalPolicy) -> None:
        if self._table.is_name_taken(transaction, policy):
            raise AlreadyExists(f"Policy {policy.name!r} already exists", field="name")
        if not 1 <= len(policy.steps) <= MAX_STEPS:
            raise InvalidInput(f"steps must list 1 to {MAX_STEPS} steps", field="steps")
        if policy.steps[0].after_s:
            raise InvalidInput("after_s of the first step must be 0", field="steps.0.after_s")
        for number, step in enumerate(policy.steps):
            if not step.groups and not step.owner:
                raise InvalidInput(
                    "A step must name a group, or admit the owner", field=f"steps.{number}.groups"
                )
            if number and step.after_s <= policy.steps[number - 1].after_s:
                raise InvalidInput(
                    "after_s must be later than that of the step before",
                    field=f"steps.{number}.after_s",
                )
            if missing := self._groups.missing(transaction, step.groups):
                raise InvalidInput(
                    f"Group {missing[0]!r} does not exist", field=f"steps.{number}.groups"
                )

    def _loaded(self, _: Mapping[str, ApprovalPolicy]) -> None:
        self._active = tuple(policy for policy in self._table.items.values() if policy.enabled)
        self.has_strict = any(policy.is_strict for policy in self._active)


def _lists(names: Names, value: str | None) -> bool:
    return names is None or value in names


def _of_row(row: Sequence[Any]) -> ApprovalPolicy:
    id_, name, position, enabled, body, version, created_at, updated_at = row
    stored = orjson.loads(body)
    selector = {
        key: None if names is None else tuple(names) for key, names in stored["applies_to"].items()
    }
    steps = tuple(
        PolicyStep(tuple(step["groups"]), bool(step["owner"]), float(step["after_s"]))
        for step in stored["steps"]
    )
    return ApprovalPolicy(
        *(id_, name, position, bool(enabled), PolicySelector(**selector), steps),
        *(stored["quorum"], stored["not_requester"], stored["expires_in_s"]),
        *(stored["context_turns"], version, created_at, updated_at),
    )


def _row(policy: ApprovalPolicy) -> tuple[Any, ...]:
    fields = ("applies_to", "steps", "quorum", "not_requester", "expires_in_s", "context_turns")
    shown = policy.shown()
    body = orjson.dumps({name: shown[name] for name in fields}).decode()
    return (
        *(policy.id, policy.name, policy.position, int(policy.enabled), body),
        *(policy.version, policy.created_at, policy.updated_at),
    )


def _missing(policy_id: str) -> NotFound:
    return NotFound(f"Policy {policy_id!r} not found", policy_id=policy_id)


_SCHEMA = ConfigSchema(
    name=APPROVAL_POLICIES,
    kind="governance.approval_policy",
    columns=(
        *("id", "name", "position", "enabled", "body", "version", "created_at", "updated_at"),
    ),
    order="position, id",
    item=_of_row,
    row=_row,
    missing=_missing,
)
