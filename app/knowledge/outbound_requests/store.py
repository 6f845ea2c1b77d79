"""Named triggers stored by administrators, with encrypted targets."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import orjson

from app.core.clock import Clock, isoformat
from app.core.errors import AlreadyExists, ConfigurationError, InvalidInput, NotFound, ToolFailed
from app.core.ids import new_id
from app.core.redaction import Redactor
from app.db.writer import DatabaseWriter, Transaction
from app.domain.outbound_requests import BODILESS
from app.governance.audit.log import AuditLog
from app.governance.config_table import ConfigSchema, ConfigTable
from app.governance.config_versions import ConfigVersions
from app.knowledge.outbound_requests.headers import header_problem
from app.knowledge.outbound_requests.model import OutboundRequest, RequestTarget
from app.knowledge.sources.encryption import KeyRing
from app.operations.web.urls import parse_url

log = logging.getLogger(__name__)

SUBJECT = "triggers"
_TARGET = "target"


@dataclass(frozen=True, slots=True)
class OutboundRequestChange:
    """Change of a trigger.

    Attributes:
        fields: new values of fields of `OutboundRequest`.
        url, headers: None leaves them unchanged.
    """

    fields: Mapping[str, Any]
    url: str | None = None
    headers: Mapping[str, str] | None = None


class OutboundRequestStore:
    """Creates, changes and deletes triggers, cached in memory in encrypted form."""

    def __init__(
        self,
        db: DatabaseWriter,
        clock: Clock,
        audit: AuditLog,
        changes: ConfigVersions,
        keys: KeyRing,
        redactor: Redactor,
        on_change: Callable[[], None],
    ) -> None:
        """Create the store.

        Args:
            on_change: called on every change of the triggers.
        """
        self._clock = clock
        self._keys = keys
        self._redactor = redactor
        self._on_change = on_change
        self._table = ConfigTable(db, audit, changes, _SCHEMA, self._loaded)

    async def load(self) -> None:
        """Load the stored triggers, including changes by other processes."""
        await self._table.load()

    def get(self, trigger_id: str) -> OutboundRequest:
        """Return a trigger.

        Raises:
            NotFound: the trigger does not exist.
        """
        return self._table.get(trigger_id)

    def list_all(self) -> list[OutboundRequest]:
        """Return every trigger, by name."""
        return list(self._table.items.values())

    def named(self, name: str) -> OutboundRequest | None:
        """Return the trigger with the name."""
        return next((item for item in self._table.items.values() if item.name == name), None)

    def target(self, trigger: OutboundRequest) -> RequestTarget:
        """Return the decrypted target, for sending.

        Raises:
            ConfigurationError: it cannot be decrypted.
        """
        try:
            text = self._keys.open(trigger.sealed, row=trigger.id, field=_TARGET)
        except ConfigurationError:
            raise ConfigurationError(
                f"Cannot decrypt the target of the trigger {trigger.name!r} with the "
                "keys of triggers: restore its key, or set its url and headers again"
            ) from None
        return RequestTarget(**orjson.loads(text))

    async def create(self, change: OutboundRequestChange, *, actor: str) -> OutboundRequest:
        """Store a new trigger; `change.fields` contains at least its name; `change.url` is set.

        Raises:
            InvalidInput: a field is invalid; names it.
            AlreadyExists: another trigger has the name.
            ConfigurationError: the keys are invalid.
        """
        moment = isoformat(self._clock.now())
        blank = OutboundRequest(new_id("trg"), created_at=moment, updated_at=moment)

        def add(transaction: Transaction) -> str:
            target = RequestTarget(change.url or "", change.headers or {})
            made = self._aimed(replace(blank, **change.fields), target)
            self._check(transaction, made)
            self._table.insert(transaction, made)
            self._table.note(transaction, made.id, actor, None, made.shown(), outcome="created")
            return made.id

        return self.get(await self._table.write(add))

    async def change(
        self,
        trigger_id: str,
        change: OutboundRequestChange,
        *,
        actor: str,
        expected: int | None = None,
    ) -> OutboundRequest:
        """Change a trigger from the next call.

        Raises:
            NotFound: the trigger does not exist.
            InvalidInput: a field is invalid, or the headers must be included.
            AlreadyExists: another trigger has the name.
            VersionMismatch: it has changed since `expected` was read.
            ConfigurationError: the keys are invalid, or the target cannot be decrypted.
        """
        moment = isoformat(self._clock.now())

        def write(transaction: Transaction) -> str:
            before = self._table.current(transaction, trigger_id, expected)
            after = self._retargeted(replace(before, **change.fields), change)
            if after == before:
                return trigger_id
            self._check(transaction, after)
            after = replace(after, version=before.version + 1, updated_at=moment)
            self._table.update(transaction, after)
            new = after.shown() | {"target_set": after.sealed != before.sealed}
            self._table.note(transaction, trigger_id, actor, before.shown(), new, outcome="changed")
            return trigger_id

        return self.get(await self._table.write(write))

    async def remove(
        self, trigger_id: str, *, actor: str, expected: int | None = None
    ) -> OutboundRequest:
        """Delete a trigger with its target, and return it.

        Raises:
            NotFound, VersionMismatch: see `change`.
        """
        return await self._table.remove(
            trigger_id, actor=actor, expected=expected, outcome="removed"
        )

    def _retargeted(
        self, trigger: OutboundRequest, change: OutboundRequestChange
    ) -> OutboundRequest:
        """Return the trigger with the change's target, if any."""
        if change.url is None and change.headers is None:
            return trigger
        if change.url is not None and change.headers is not None:
            return self._aimed(trigger, RequestTarget(change.url, change.headers))
        old = self.target(trigger)
        url = old.url if change.url is None else change.url
        headers = old.headers if change.headers is None else change.headers
        moved = _origin(url) != trigger.origin
        if moved and headers and change.headers is None:
            # A user without access to the stored values must not redirect them either.
            raise InvalidInput(
                "The stored headers are not sent to another host: set them again", field="headers"
            )
        return self._aimed(trigger, RequestTarget(url, headers))

    def _aimed(self, trigger: OutboundRequest, target: RequestTarget) -> OutboundRequest:
        # In the transaction, and bound to the row: it cannot be decrypted in another row.
        problem = header_problem(target.headers, stored=True)
        if problem is not None:
            raise InvalidInput(f"headers: {problem}", field="headers")
        text = orjson.dumps(asdict(target)).decode()
        return replace(
            trigger,
            origin=_origin(target.url),
            header_names=tuple(sorted(target.headers)),
            sealed=self._keys.seal(text, row=trigger.id, field=_TARGET),
        )

    def _check(self, transaction: Transaction, trigger: OutboundRequest) -> None:
        if trigger.method in BODILESS and (trigger.body is not None or trigger.body_from_call):
            raise InvalidInput(f"{trigger.method} cannot have a body; use POST", field="body")
        if self._table.is_name_taken(transaction, trigger):
            raise AlreadyExists(f"Trigger {trigger.name!r} already exists", field="name")

    def _loaded(self, _: Mapping[str, OutboundRequest]) -> None:
        self._redactor.learn(SUBJECT, self._secrets())
        self._on_change()

    def _secrets(self) -> list[str]:
        found: list[str] = []
        for trigger in self._table.items.values():
            try:
                found += self.target(trigger).secrets()
            except ConfigurationError as error:
                log.warning("%s", error.message)
        return found


def _origin(url: str) -> str:
    try:
        return parse_url(url, any_port=True).origin
    except ToolFailed as error:
        # Without the address, which may be secret.
        why = error.message.rpartition(": ")[2]
        raise InvalidInput(f"url is not a reachable address: {why}", field="url") from None


def _of_row(row: Sequence[Any]) -> OutboundRequest:
    id_, name, method, origin, headers, sealed, body, from_call, free, agents, on, *rest = row
    return OutboundRequest(
        *(id_, name, method, origin, tuple(orjson.loads(headers)), sealed, body),
        *(bool(from_call), bool(free), tuple(orjson.loads(agents)), bool(on), *rest),
    )


def _row(trigger: OutboundRequest) -> tuple[Any, ...]:
    def text(values: Sequence[str]) -> str:
        return orjson.dumps(list(values)).decode()

    return (
        *(trigger.id, trigger.name, trigger.method, trigger.origin, text(trigger.header_names)),
        *(trigger.sealed, trigger.body, int(trigger.body_from_call), int(trigger.free)),
        *(text(trigger.agents), int(trigger.enabled)),
        *(trigger.version, trigger.created_at, trigger.updated_at),
    )


def _missing(trigger_id: str) -> NotFound:
    return NotFound(f"Trigger {trigger_id!r} not found", trigger_id=trigger_id)


_SCHEMA = ConfigSchema(
    name=SUBJECT,
    kind="governance.trigger",
    columns=(
        *("id", "name", "method", "origin", "headers", "target", "body", "body_from_call", "free"),
        *("agents", "enabled", "version", "created_at", "updated_at"),
    ),
    order="name",
    item=_of_row,
    row=_row,
    missing=_missing,
)
