"""Operators' decisions about skills: enabled in exactly one version, or disabled.

Decisions are cached as one immutable mapping, which is replaced on every change: reads need no
query.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from app.core.clock import Clock, isoformat
from app.core.versions import check_version
from app.db.writer import DatabaseWriter, Transaction
from app.governance.audit.log import AuditEntry, AuditLog
from app.governance.config_versions import ConfigVersions, increment, number_of

SUBJECT = "skills"
_READ = "SELECT id, enabled, trusted_digest, version FROM skills"
_PUT = (
    "INSERT INTO skills (id, enabled, trusted_digest, version, updated_at, updated_by)"
    " VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET enabled = excluded.enabled,"
    " trusted_digest = excluded.trusted_digest, version = excluded.version,"
    " updated_at = excluded.updated_at, updated_by = excluded.updated_by"
)


@dataclass(frozen=True, slots=True)
class SkillDecision:
    """Decision about one skill; `enabled` is None without a decision."""

    enabled: bool | None = None
    trusted_digest: str | None = None
    version: int = 0

    def shown(self) -> dict[str, Any]:
        """Return the fields for the audit log."""
        return {"enabled": self.enabled, "trusted_digest": self.trusted_digest}


UNDECIDED = SkillDecision()
_Decisions = Mapping[str, SkillDecision]


class SkillStore:
    """Decisions by skill ID."""

    def __init__(
        self, db: DatabaseWriter, clock: Clock, audit: AuditLog, changes: ConfigVersions
    ) -> None:
        self._db = db
        self._clock = clock
        self._audit = audit
        self._changes = changes
        self._decisions: _Decisions = MappingProxyType({})
        self._trusted: frozenset[str] = frozenset()
        changes.watch(SUBJECT, self.load)

    async def load(self) -> None:
        """Load all decisions, including changes by other processes."""
        self._use(*await self._db.transact(_read))

    def of(self, skill_id: str) -> SkillDecision:
        """Return the current decision."""
        return self._decisions.get(skill_id, UNDECIDED)

    def is_trusted(self, digest: str) -> bool:
        """Return whether a version with this digest is enabled anywhere."""
        return digest in self._trusted

    async def put(
        self,
        skill_id: str,
        *,
        enabled: bool,
        trusted_digest: str | None,
        actor: str,
        expected: int | None = None,
    ) -> SkillDecision:
        """Store a decision with its audit line.

        Raises:
            VersionMismatch: it has changed since `expected` was read.
        """
        moment = isoformat(self._clock.now())

        def write(transaction: Transaction) -> tuple[dict[str, SkillDecision], int]:
            before = _read(transaction)[0].get(skill_id, UNDECIDED)
            check_version(expected, before.version)
            after = SkillDecision(enabled, trusted_digest, before.version + 1)
            if after.shown() != before.shown():
                row = (skill_id, enabled, trusted_digest, after.version, moment, actor)
                transaction.execute(_PUT, row)
                increment(transaction, SUBJECT)
                self._audit.within(
                    transaction,
                    AuditEntry(
                        "governance.skill",
                        actor=actor,
                        subject=skill_id,
                        before=before.shown(),
                        after=after.shown(),
                    ),
                )
            return _read(transaction)

        self._use(*await self._db.transact(write))
        return self.of(skill_id)

    def _use(self, decisions: dict[str, SkillDecision], number: int) -> None:
        self._changes.saw(SUBJECT, number)
        self._decisions = MappingProxyType(decisions)
        self._trusted = frozenset(
            known.trusted_digest
            for known in decisions.values()
            if known.enabled and known.trusted_digest
        )


def _read(transaction: Transaction) -> tuple[dict[str, SkillDecision], int]:
    decisions = {
        id_: SkillDecision(bool(enabled), digest, int(version))
        for id_, enabled, digest, version in transaction.fetch(_READ)
    }
    return decisions, number_of(transaction, SUBJECT)
