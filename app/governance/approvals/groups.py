"""Groups of approvers, stored by administrators."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from app.core.clock import Clock, isoformat
from app.core.errors import AlreadyExists, Conflict, InvalidInput, NotFound
from app.db.writer import DatabaseWriter, Transaction
from app.governance.audit.log import AuditLog
from app.governance.config_table import ConfigSchema, ConfigTable
from app.governance.config_versions import ConfigVersions

APPROVER_GROUPS = "approver_groups"
MAX_MEMBERS = 500
_POLICIES = "SELECT name, body FROM approval_policies ORDER BY name"


@dataclass(frozen=True, slots=True)
class ApproverGroup:
    """Group of approvers.

    Attributes:
        members: user IDs. Tokens with the scope `approve:<id>` belong to the group too.
    """

    id: str
    name: str
    members: tuple[str, ...] = ()
    version: int = 1
    created_at: str = ""
    updated_at: str = ""

    def shown(self) -> dict[str, Any]:
        """Return the fields for the audit."""
        return {"name": self.name, "members": list(self.members)}


class ApproverGroupStore:
    """Creates, changes and deletes groups, and caches them in memory."""

    def __init__(
        self,
        db: DatabaseWriter,
        clock: Clock,
        audit: AuditLog,
        changes: ConfigVersions,
        on_change: Callable[[], None],
    ) -> None:
        """Bind it.

        Args:
            on_change: called when members may have changed.
        """
        self._clock = clock
        self._on_change = on_change
        self._table = ConfigTable(db, audit, changes, _SCHEMA, self._loaded)
        self._of_user: Mapping[str, frozenset[str]] = {}

    async def load(self) -> None:
        """Load the stored groups, including changes by other processes."""
        await self._table.load()

    def get(self, group_id: str) -> ApproverGroup:
        """Return a group.

        Raises:
            NotFound: the group does not exist.
        """
        return self._table.get(group_id)

    def list_all(self) -> list[ApproverGroup]:
        """Return every group, by ID."""
        return list(self._table.items.values())

    def of_user(self, user_id: str) -> frozenset[str]:
        """Return the groups of which the user is a member."""
        return self._of_user.get(user_id, frozenset())

    async def create(
        self, group_id: str, *, name: str, members: Sequence[str], actor: str
    ) -> ApproverGroup:
        """Store a new group.

        Raises:
            InvalidInput: too many members.
            AlreadyExists: a group has the ID.
        """
        moment = isoformat(self._clock.now())
        made = ApproverGroup(group_id, name, _members(members), 1, moment, moment)

        def add(transaction: Transaction) -> None:
            if group_id in self._table.stored(transaction):
                raise AlreadyExists(f"Group {group_id!r} already exists", field="id")
            self._table.insert(transaction, made)
            self._table.note(transaction, group_id, actor, None, made.shown())

        await self._table.write(add)
        return made

    async def change(
        self,
        group_id: str,
        fields: Mapping[str, Any],
        *,
        actor: str,
        expected: int | None = None,
    ) -> ApproverGroup:
        """Change `name` or `members`; open requests follow at once.

        Raises:
            NotFound: the group does not exist.
            InvalidInput: too many members.
            VersionMismatch: it has changed since `expected` was read.
        """
        new = dict(fields)
        if "members" in new:
            new["members"] = _members(new["members"])
        moment = isoformat(self._clock.now())

        def write(transaction: Transaction) -> None:
            before = self._table.current(transaction, group_id, expected)
            after = replace(before, **new)
            if after == before:
                return
            after = replace(after, version=before.version + 1, updated_at=moment)
            self._table.update(transaction, after)
            self._table.note(transaction, group_id, actor, before.shown(), after.shown())

        await self._table.write(write)
        return self.get(group_id)

    async def remove(
        self, group_id: str, *, actor: str, expected: int | None = None
    ) -> ApproverGroup:
        """Delete a group and return it.

        Raises:
            NotFound, VersionMismatch: see `change`.
            Conflict: a policy names the group.
        """

        def remove(transaction: Transaction) -> ApproverGroup:
            before = self._table.current(transaction, group_id, expected)
            for policy, body in transaction.fetch(_POLICIES):
                if any(group_id in step["groups"] for step in orjson.loads(body)["steps"]):
                    raise Conflict(
                        f"The approval policy {policy!r} names the group; change the policy first",
                        group_id=group_id,
                    )
            self._table.delete(transaction, group_id)
            self._table.note(transaction, group_id, actor, before.shown(), None)
            return before

        return await self._table.write(remove)

    def missing(self, transaction: Transaction, group_ids: Sequence[str]) -> list[str]:
        """Return the IDs that name no stored group."""
        stored = self._table.stored(transaction)
        return [group_id for group_id in group_ids if group_id not in stored]

    def _loaded(self, _: Mapping[str, ApproverGroup]) -> None:
        found: dict[str, set[str]] = {}
        for group in self._table.items.values():
            for member in group.members:
                found.setdefault(member, set()).add(group.id)
        self._of_user = {user: frozenset(groups) for user, groups in found.items()}
        self._on_change()


def _members(given: Sequence[str]) -> tuple[str, ...]:
    members = tuple(dict.fromkeys(given))
    if len(members) > MAX_MEMBERS:
        raise InvalidInput(f"members must list at most {MAX_MEMBERS} users", field="members")
    return members


def _of_row(row: Sequence[Any]) -> ApproverGroup:
    id_, name, members, *rest = row
    return ApproverGroup(id_, name, tuple(orjson.loads(members)), *rest)


def _row(group: ApproverGroup) -> tuple[Any, ...]:
    members = orjson.dumps(list(group.members)).decode()
    return (group.id, group.name, members, group.version, group.created_at, group.updated_at)


def _missing(group_id: str) -> NotFound:
    return NotFound(f"Group {group_id!r} not found", group_id=group_id)


_SCHEMA = ConfigSchema(
    name=APPROVER_GROUPS,
    kind="governance.approver_group",
    columns=("id", "name", "members", "version", "created_at", "updated_at"),
    order="id",
    item=_of_row,
    row=_row,
    missing=_missing,
)
