"""Named triggers as administrators store them; their targets only sealed."""

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
from app.governance.audit.log import AuditLog
from app.governance.config_table import ConfigSchema, ConfigTable
from app.governance.config_versions import ConfigVersions
from app.knowledge.outbound_requests.headers import header_problem
from app.knowledge.outbound_requests.model import OutboundRequest, RequestTarget
from app.knowledge.sources.encryption import KeyRing
from app.operations.web.urls import parse_url
from app.tools.automation.outbound_ports import BODILESS

log = logging.getLogger(__name__)

SUBJECT = "triggers"
_TARGET = "target"


@dataclass(frozen=True, slots=True)
class OutboundRequestChange:
    """What shall be different.

    Attributes:
        fields: new values of fields of `Trigger`.
        url, headers: None leaves them as they are.
    """

    fields: Mapping[str, Any]
    url: str | None = None
    headers: Mapping[str, str] | None = None


class OutboundRequestStore:
    """Makes, changes and forgets triggers. What is stored is kept in memory, sealed."""

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
        """Bind it.

        Args:
            on_change: called whenever the triggers are other ones.
        """
        self._clock = clock
        self._keys = keys
        self._redactor = redactor
        self._on_change = on_change
        self._table = ConfigTable(db, audit, changes, _SCHEMA, self._loaded)

    async def load(self) -> None:
        """Read what is stored, also when another process has changed it."""
        await self._table.load()

    def get(self, trigger_id: str) -> OutboundRequest:
        """One trigger.

        Raises:
            NotFound: there is no such trigger.
        """
        return self._table.get(trigger_id)

    def list_all(self) -> list[OutboundRequest]:
        """Every trigger, by name."""
        return list(self._table.items.values())

    def named(self, name: str) -> OutboundRequest | None:
        """The trigger of that name."""
        return next((item for item in self._table.items.values() if item.name == name), None)

    def target(self, trigger: OutboundRequest) -> RequestTarget:
        """Where it goes, in the clear, for sending.

        Raises:
            ConfigurationError: it does not open.
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
        """Store a new trigger; `change.fields` has at least its name, `change.url` is there.

        Raises:
            InvalidInput: a field does not fit; it is named.
            AlreadyExists: another trigger has that name.
            ConfigurationError: the keys cannot be read.
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
        """Change a trigger; the next call sees it as it is then.

        Raises:
            NotFound: there is no such trigger.
            InvalidInput: a field does not fit, or the headers must come along.
            AlreadyExists: another trigger has that name.
            VersionMismatch: it has changed since `expected` was read.
            ConfigurationError: the keys cannot be read, or what it holds does not open.
        """
        moment = isoformat(self._clock.now())

        def write(transaction: Transaction) -> str:
            before = self._table.current(transaction, trigger_id, expected)
            after = self._aimed_anew(replace(before, **change.fields), change)
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
        """Forget a trigger with its target; return what it was.

        Raises:
            NotFound, VersionMismatch: as `change`.
        """
        return await self._table.remove(
            trigger_id, actor=actor, expected=expected, outcome="removed"
        )

    def _aimed_anew(
        self, trigger: OutboundRequest, change: OutboundRequestChange
    ) -> OutboundRequest:
        """With another target, where the change has one."""
        if change.url is None and change.headers is None:
            return trigger
        if change.url is not None and change.headers is not None:
            return self._aimed(trigger, RequestTarget(change.url, change.headers))
        old = self.target(trigger)
        url = old.url if change.url is None else change.url
        headers = old.headers if change.headers is None else change.headers
        moved = _origin(url) != trigger.origin
        if moved and headers and change.headers is None:
            # Who may not read the stored values must not have them sent elsewhere either.
            raise InvalidInput(
                "The stored headers are not sent to another host: set them again", field="headers"
            )
        return self._aimed(trigger, RequestTarget(url, headers))

    def _aimed(self, trigger: OutboundRequest, target: RequestTarget) -> OutboundRequest:
        # Within the transaction, and bound to the row: copied elsewhere it does not open.
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
        # Not the address itself: it may be a secret.
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
