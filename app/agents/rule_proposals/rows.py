"""Stored proposals: every change of a state is one compare-and-set, with its audit entry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal

import orjson

from app.core.errors import AlreadyFinished, NotFound
from app.db.writer import DatabaseWriter, Transaction
from app.governance.audit.log import AuditEntry, AuditLog

Kind = Literal["allow", "deny", "remove"]
State = Literal["open", "accepted", "dismissed", "stale"]
AUDITED = "governance.rule_proposal"
MAX_KEPT = 2_000


@dataclass(frozen=True, slots=True)
class StoredProposal:
    """Proposal as stored.

    Attributes:
        body: definition of the rule; for `remove` that of the removed rule.
        proof: see `app.policy.proposals.proof.Proof`.
        evidence: operation IDs of the calls that speak for it.
        why: one sentence about where it comes from.
        reason: what an agent gave as its reason; untrusted text.
        requested_by: agent, session and operation of a requested one.
        rule_id: rule to remove, or the created one.
        content_key: equal for the same rule from other evidence.
        rules_digest, history_position: what the proof stands on.
    """

    id: str
    kind: Kind
    body: dict[str, Any]
    proof: dict[str, Any]
    evidence: list[str]
    state: State
    content_key: str
    rules_digest: str
    history_position: str
    created_at: str
    proven_at: str
    why: str = ""
    reason: str = ""
    requested_by: dict[str, Any] | None = None
    rule_id: str | None = None
    decided_by: str | None = None
    decided_at: str | None = None
    version: int = 1


_NAMES = tuple(field.name for field in fields(StoredProposal))
_JSON = frozenset({"body", "proof", "evidence", "requested_by"})
_COLUMNS = ", ".join(_NAMES)
_ADD = f"INSERT INTO rule_proposals ({_COLUMNS}) VALUES ({', '.join('?' for _ in _NAMES)})"  # noqa: S608 - constants of this file
_ALL = f"SELECT {_COLUMNS} FROM rule_proposals ORDER BY created_at DESC, id DESC"  # noqa: S608 - as above
_ONE = f"SELECT {_COLUMNS} FROM rule_proposals WHERE id = ?"  # noqa: S608 - as above
_PROVEN = (
    "UPDATE rule_proposals SET body = ?, proof = ?, evidence = ?, why = ?, rules_digest = ?,"
    " history_position = ?, proven_at = ?, version = version + 1 WHERE id = ? AND state = 'open'"
)
_DECIDED = (
    "UPDATE rule_proposals SET state = ?, decided_by = ?, decided_at = ?, rule_id = ?, body = ?,"
    " proof = ?, rules_digest = ?, history_position = ?, proven_at = ?, version = version + 1"
    " WHERE id = ? AND state = 'open'"
)
_FORGET = (
    "DELETE FROM rule_proposals WHERE state = 'stale' AND id NOT IN"
    " (SELECT id FROM rule_proposals ORDER BY created_at DESC, id DESC LIMIT ?)"
)
_NEWEST_ANSWER = (
    "SELECT answered_at, id FROM confirmations WHERE status = ? AND answered_at IS NOT NULL"
    " ORDER BY answered_at DESC, id DESC LIMIT 1"
)
# The answers that speak against a rule of the kind.
_AGAINST: Mapping[Kind, str] = {"allow": "declined", "deny": "approved", "remove": "declined"}


def all_of(transaction: Transaction) -> list[StoredProposal]:
    """Return every proposal, newest first."""
    return [_proposal(row) for row in transaction.fetch(_ALL)]


def require(transaction: Transaction, proposal_id: str) -> StoredProposal:
    """Return one proposal.

    Raises:
        NotFound: it does not exist.
    """
    found = transaction.fetch(_ONE, (proposal_id,))
    if not found:
        raise NotFound(f"Rule proposal {proposal_id!r} not found", proposal_id=proposal_id)
    return _proposal(found[0])


def require_open(transaction: Transaction, proposal_id: str) -> StoredProposal:
    """Return one proposal that is not decided yet.

    Raises:
        NotFound: it does not exist.
        AlreadyFinished: it is accepted, dismissed or stale.
    """
    found = require(transaction, proposal_id)
    if found.state != "open":
        by = f" by {found.decided_by}" if found.decided_by else ""
        raise AlreadyFinished(
            f"The proposal is already {found.state}{by}; only an open one can be decided",
            proposal_id=proposal_id,
            state=found.state,
        )
    return found


def newest_against(transaction: Transaction, kind: Kind) -> str:
    """Return the position of the newest answer that may speak against a rule of the kind."""
    found = transaction.fetch(_NEWEST_ANSWER, (_AGAINST[kind],))
    return ":".join(map(str, found[0])) if found else ""


class ProposalRows:
    """Reads and writes proposals."""

    def __init__(self, db: DatabaseWriter, audit: AuditLog) -> None:
        self.db = db
        self._audit = audit

    async def all(self) -> list[StoredProposal]:
        """Return every proposal, newest first."""
        return await self.db.transact(all_of)

    async def get(self, proposal_id: str) -> StoredProposal:
        """Return one proposal.

        Raises:
            NotFound: it does not exist.
        """
        return await self.db.transact(lambda transaction: require(transaction, proposal_id))

    def add(self, transaction: Transaction, proposal: StoredProposal, *, actor: str) -> None:
        """Store a new proposal."""
        transaction.execute(_ADD, _row(proposal))
        self._note(transaction, proposal, actor, before=None)
        transaction.execute(_FORGET, (MAX_KEPT,))

    def prove(self, transaction: Transaction, proposal: StoredProposal) -> None:
        """Store a newer proof of an open proposal."""
        transaction.execute(
            _PROVEN,
            (
                *(_json(proposal.body), _json(proposal.proof), _json(proposal.evidence)),
                *(proposal.why, proposal.rules_digest, proposal.history_position),
                *(proposal.proven_at, proposal.id),
            ),
        )

    def decide(
        self, transaction: Transaction, proposal: StoredProposal, *, actor: str, moment: str
    ) -> StoredProposal:
        """Store the state of a proposal that has been open; return it as stored.

        Raises:
            AlreadyFinished: it is no longer open.
        """
        by = None if proposal.state == "stale" else actor
        changed = transaction.execute(
            _DECIDED,
            (
                *(proposal.state, by, moment, proposal.rule_id),
                *(_json(proposal.body), _json(proposal.proof)),
                *(proposal.rules_digest, proposal.history_position, proposal.proven_at),
                proposal.id,
            ),
        )
        if not changed:
            require_open(transaction, proposal.id)
        self._note(transaction, proposal, actor, before="open")
        return require(transaction, proposal.id)

    def _note(
        self, transaction: Transaction, proposal: StoredProposal, actor: str, *, before: str | None
    ) -> None:
        after = {
            "state": proposal.state,
            "kind": proposal.kind,
            "rule_id": proposal.rule_id,
            "body": proposal.body,
        }
        self._audit.within(
            transaction,
            AuditEntry(
                AUDITED,
                actor=actor,
                subject=proposal.id,
                before=None if before is None else {"state": before},
                after=after,
            ),
        )


def requests_of(proposals: Sequence[StoredProposal], session_id: str) -> list[StoredProposal]:
    """Return the proposals that a session requested."""
    return [
        proposal
        for proposal in proposals
        if proposal.requested_by and proposal.requested_by.get("session_id") == session_id
    ]


def closed(proposal: StoredProposal, state: State, **changes: Any) -> StoredProposal:
    """Return the proposal in another state."""
    return replace(proposal, state=state, **changes)


def _row(proposal: StoredProposal) -> tuple[Any, ...]:
    values = asdict(proposal)
    return tuple(_json(values[name]) if name in _JSON else values[name] for name in _NAMES)


def _proposal(row: Sequence[Any]) -> StoredProposal:
    values: Mapping[str, Any] = dict(zip(_NAMES, row, strict=True))
    read = {
        name: orjson.loads(value) if name in _JSON and value is not None else value
        for name, value in values.items()
    }
    return StoredProposal(**read)


def _json(value: Any) -> str | None:
    return None if value is None else orjson.dumps(value, default=str).decode()
