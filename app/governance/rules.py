"""Rules in the database: created, changed and removed by administrators.

The policy interprets rule bodies; here they are JSON. Rows are cached as one immutable tuple, which
is replaced when a rule changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, TypeVar

import orjson

from app.core.clock import Clock, isoformat
from app.core.errors import AlreadyExists, NotFound
from app.core.ids import new_id
from app.core.versions import check_version
from app.db.statements import RULE_HIT
from app.db.writer import DatabaseWriter, Transaction
from app.governance.audit.log import AuditEntry, AuditLog
from app.governance.config_versions import ConfigVersions, increment, number_of

RULES = "rules"
MAX_RULES = 5_000

_COLUMNS = "id, body, enabled, version, created_by, created_at, updated_at"
_READ = f"SELECT {_COLUMNS} FROM rules ORDER BY created_at, id"  # noqa: S608 - constants of this file
_ONE = f"SELECT {_COLUMNS} FROM rules WHERE id = ?"  # noqa: S608 - as above
_ADD = (
    "INSERT INTO rules (id, body, enabled, version, created_by, created_at, updated_at)"
    " VALUES (?, ?, ?, 1, ?, ?, ?)"
)
_CHANGE = (
    "UPDATE rules SET body = ?, enabled = ?, version = version + 1, updated_at = ? WHERE id = ?"
)
_REMOVE = "DELETE FROM rules WHERE id = ?"
_COUNT = "SELECT count(*) FROM rules"
_HITS = "SELECT id, hits, last_hit_at FROM rules WHERE id IN ({})"

Body = dict[str, Any]
Also = Callable[[Transaction, str], None]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class StoredRule:
    """Row, or entry of the rules file. `body` is as stored, valid or not."""

    id: str
    body: Any
    enabled: bool
    version: int
    created_by: str
    created_at: str
    updated_at: str
    source: Literal["database", "file"] = "database"


@dataclass(slots=True)
class RuleFile:
    """The rules of a file alone."""

    snapshot: tuple[StoredRule, ...]


class RuleStore:
    """Creates, changes, removes and counts rules.

    Attributes:
        snapshot: all rules; those of the file first.
    """

    def __init__(
        self,
        db: DatabaseWriter,
        clock: Clock,
        audit: AuditLog,
        changes: ConfigVersions | None = None,
        *,
        from_file: tuple[StoredRule, ...] = (),
    ) -> None:
        self._db = db
        self._clock = clock
        self._audit = audit
        self._changes = changes or ConfigVersions(db)
        self._changes.watch(RULES, self.load)
        self._from_file = from_file
        self._hits: dict[str, tuple[int, str]] = {}
        self.snapshot: tuple[StoredRule, ...] = from_file

    async def load(self) -> None:
        """Load all rules."""
        await self._write(lambda _: None)

    def require(self, rule_id: str) -> StoredRule:
        """Return the rule with the ID.

        Raises:
            NotFound: the rule does not exist.
        """
        for stored in self.snapshot:
            if stored.id == rule_id:
                return stored
        raise NotFound(f"Rule {rule_id!r} not found", rule_id=rule_id)

    async def create(self, body: Body, *, actor: str, also: Also | None = None) -> StoredRule:
        """Store a new rule.

        Args:
            also: work of the same transaction, which gets the ID of the rule.

        Raises:
            AlreadyExists: the maximum number of rules is reached.
        """
        moment = isoformat(self._clock.now())
        rule_id = new_id("rul")

        def add(transaction: Transaction) -> None:
            if transaction.fetch(_COUNT)[0][0] >= MAX_RULES:
                raise AlreadyExists(
                    f"The maximum of {MAX_RULES} rules is reached; delete some first"
                )
            row = (rule_id, _text(body), _enabled(body), actor, moment, moment)
            transaction.execute(_ADD, row)
            self._note(transaction, rule_id, None, body, actor=actor)
            if also is not None:
                also(transaction, rule_id)

        await self._write(add)
        return self.require(rule_id)

    async def change(
        self,
        rule_id: str,
        change: Callable[[Any], Body],
        *,
        actor: str,
        expected: int | None = None,
    ) -> StoredRule:
        """Replace a rule's body with `change(present body)`.

        Raises:
            NotFound: the rule does not exist, or comes from the rules file.
            VersionMismatch: it has changed since `expected` was read.
        """
        moment = isoformat(self._clock.now())

        def write(transaction: Transaction) -> None:
            before = self._current(transaction, rule_id, expected)
            after = change(before.body)
            if after == before.body:
                return
            transaction.execute(_CHANGE, (_text(after), _enabled(after), moment, rule_id))
            self._note(transaction, rule_id, before.body, after, actor=actor)

        await self._write(write)
        return self.require(rule_id)

    async def remove(
        self, rule_id: str, *, actor: str, expected: int | None = None, also: Also | None = None
    ) -> StoredRule:
        """Remove a rule and return it.

        Args:
            also: work of the same transaction, which gets the ID of the rule.

        Raises:
            NotFound: the rule does not exist, or comes from the rules file.
            VersionMismatch: it has changed since `expected` was read.
        """

        def remove(transaction: Transaction) -> StoredRule:
            before = self._current(transaction, rule_id, expected)
            transaction.execute(_REMOVE, (rule_id,))
            self._note(transaction, rule_id, before.body, None, actor=actor)
            if also is not None:
                also(transaction, rule_id)
            return before

        return await self._write(remove)

    def hit(self, rule_ids: Iterable[str]) -> None:
        """Count matches of rules; written with the next commit."""
        moment = isoformat(self._clock.now())
        from_file = {stored.id for stored in self._from_file}
        for rule_id in rule_ids:
            if rule_id in from_file:
                count, _ = self._hits.get(rule_id, (0, ""))
                self._hits[rule_id] = (count + 1, moment)
            else:
                self._db.append(RULE_HIT, (moment, rule_id))

    async def counted(self, rule_ids: Iterable[str]) -> dict[str, tuple[int, str | None]]:
        """Return the number of matches and the last match of rules, since the start for rules
        of the file.
        """
        wanted = tuple(rule_ids)
        query = _HITS.format(", ".join("?" for _ in wanted))

        def read(transaction: Transaction) -> list[tuple[Any, ...]]:
            return transaction.fetch(query, wanted)

        found: dict[str, tuple[int, str | None]] = dict(self._hits)
        found.update({row[0]: (row[1], row[2]) for row in await self._db.transact(read)})
        return found

    async def _write(self, work: Callable[[Transaction], T]) -> T:
        def run(transaction: Transaction) -> tuple[T, int, list[tuple[Any, ...]]]:
            return work(transaction), number_of(transaction, RULES), transaction.fetch(_READ)

        result, number, rows = await self._db.transact(run)
        self._changes.saw(RULES, number)
        self.snapshot = (*self._from_file, *map(_stored, rows))
        return result

    def _current(self, transaction: Transaction, rule_id: str, expected: int | None) -> StoredRule:
        found = transaction.fetch(_ONE, (rule_id,))
        if not found:
            in_file = any(stored.id == rule_id for stored in self._from_file)
            why = "; it is defined in the rules file and must be changed there" if in_file else ""
            raise NotFound(f"Rule {rule_id!r} not found in the database{why}", rule_id=rule_id)
        before = _stored(found[0])
        check_version(expected, before.version)
        return before

    def _note(
        self, transaction: Transaction, rule_id: str, before: Any, after: Any, *, actor: str
    ) -> None:
        increment(transaction, RULES)
        self._audit.within(
            transaction,
            AuditEntry(
                "governance.rule",
                actor=actor,
                subject=rule_id,
                before=before,
                after=after,
            ),
        )


def file_rules(items: Iterable[Any]) -> tuple[StoredRule, ...]:
    """Return entries of the rules file as read-only rules."""
    return tuple(
        StoredRule(f"file:{at}", body, _enabled(body), 1, "file", "", "", source="file")
        for at, body in enumerate(items, start=1)
    )


# Each change reads all rows; those that are as before need not be parsed again.
@lru_cache(MAX_RULES)
def _stored(row: tuple[Any, ...]) -> StoredRule:
    try:
        body = orjson.loads(row[1])
    except orjson.JSONDecodeError:
        body = None  # shown as invalid, and applied to every tool
    return StoredRule(row[0], body, bool(row[2]), *row[3:])


def _text(body: Body) -> str:
    return orjson.dumps(body).decode()


def _enabled(body: Any) -> bool:
    return not isinstance(body, dict) or body.get("enabled") is not False
