"""Named triggers as administrators store them; their targets only sealed."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeVar

import orjson

from app.core.clock import Clock, isoformat
from app.core.errors import AlreadyExists, ConfigurationError, InvalidInput, NotFound, ToolFailed
from app.core.ids import new_id
from app.core.redaction import Redactor
from app.core.versions import check_version
from app.db.writer import DatabaseWriter, Transaction
from app.governance.audit.log import AuditLog
from app.governance.config_versions import ConfigVersions, increment, number_of
from app.knowledge.outbound_requests.headers import header_problem
from app.knowledge.outbound_requests.model import OutboundRequest, RequestTarget
from app.knowledge.sources.encryption import KeyRing
from app.operations.web.urls import parse_url
from app.tools.automation.outbound_ports import BODILESS

T = TypeVar("T")
log = logging.getLogger(__name__)

SUBJECT = "triggers"
_TARGET = "target"
_NAMES = (
    *("id", "name", "method", "origin", "headers", "target", "body", "body_from_call", "free"),
    *("agents", "enabled", "version", "created_at", "updated_at"),
)
_COLUMNS = ", ".join(_NAMES)
_READ = f"SELECT {_COLUMNS} FROM triggers ORDER BY name"  # noqa: S608 - a constant
_ADD = f"INSERT INTO triggers ({_COLUMNS}) VALUES ({', '.join('?' for _ in _NAMES)})"  # noqa: S608
_CHANGE = f"UPDATE triggers SET {', '.join(f'{name} = ?' for name in _NAMES[1:])} WHERE id = ?"  # noqa: S608
_REMOVE = "DELETE FROM triggers WHERE id = ?"


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
        self._db = db
        self._clock = clock
        self._audit = audit
        self._changes = changes
        self._keys = keys
        self._redactor = redactor
        self._on_change = on_change
        self._triggers: dict[str, OutboundRequest] = {}
        changes.watch(SUBJECT, self.load)

    async def load(self) -> None:
        """Read what is stored, also when another process has changed it."""
        self._use(*await self._db.transact(_read))

    def get(self, trigger_id: str) -> OutboundRequest:
        """One trigger.

        Raises:
            NotFound: there is no such trigger.
        """
        found = self._triggers.get(trigger_id)
        if found is None:
            raise NotFound(f"Trigger {trigger_id!r} not found", trigger_id=trigger_id)
        return found

    def list_all(self) -> list[OutboundRequest]:
        """Every trigger, by name."""
        return list(self._triggers.values())

    def named(self, name: str) -> OutboundRequest | None:
        """The trigger of that name."""
        return next((item for item in self._triggers.values() if item.name == name), None)

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
            _check(transaction, made)
            transaction.execute(_ADD, _row(made))
            self._note(transaction, made.id, None, made.shown(), actor, "created")
            return made.id

        return self.get(await self._write(add))

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
            before = _current(transaction, trigger_id, expected)
            after = self._aimed_anew(replace(before, **change.fields), change)
            if after == before:
                return trigger_id
            _check(transaction, after)
            after = replace(after, version=before.version + 1, updated_at=moment)
            transaction.execute(_CHANGE, (*_row(after)[1:], trigger_id))
            new = after.shown() | {"target_set": after.sealed != before.sealed}
            self._note(transaction, trigger_id, before.shown(), new, actor, "changed")
            return trigger_id

        return self.get(await self._write(write))

    async def remove(
        self, trigger_id: str, *, actor: str, expected: int | None = None
    ) -> OutboundRequest:
        """Forget a trigger with its target; return what it was.

        Raises:
            NotFound, VersionMismatch: as `change`.
        """

        def remove(transaction: Transaction) -> OutboundRequest:
            before = _current(transaction, trigger_id, expected)
            transaction.execute(_REMOVE, (trigger_id,))
            self._note(transaction, trigger_id, before.shown(), None, actor, "removed")
            return before

        return await self._write(remove)

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

    async def _write(self, work: Callable[[Transaction], T]) -> T:
        def run(transaction: Transaction) -> tuple[T, dict[str, OutboundRequest], int]:
            return work(transaction), *_read(transaction)

        answer, triggers, number = await self._db.transact(run)
        self._use(triggers, number)
        return answer

    def _note(
        self,
        transaction: Transaction,
        trigger_id: str,
        before: Mapping[str, Any] | None,
        after: Mapping[str, Any] | None,
        actor: str,
        outcome: str,
    ) -> None:
        increment(transaction, SUBJECT)
        self._audit.within(
            transaction,
            "governance.trigger",
            actor=actor,
            subject=trigger_id,
            before=before,
            after=after,
            outcome=outcome,
        )

    def _use(self, triggers: dict[str, OutboundRequest], number: int) -> None:
        self._changes.saw(SUBJECT, number)
        self._triggers = triggers
        self._redactor.learn(SUBJECT, self._secrets())
        self._on_change()

    def _secrets(self) -> list[str]:
        found: list[str] = []
        for trigger in self._triggers.values():
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


def _check(transaction: Transaction, trigger: OutboundRequest) -> None:
    if trigger.method in BODILESS and (trigger.body is not None or trigger.body_from_call):
        raise InvalidInput(f"{trigger.method} cannot have a body; use POST", field="body")
    for other in _read(transaction)[0].values():
        if other.name == trigger.name and other.id != trigger.id:
            raise AlreadyExists(f"Trigger {trigger.name!r} already exists", field="name")


def _current(transaction: Transaction, trigger_id: str, expected: int | None) -> OutboundRequest:
    stored = _read(transaction)[0].get(trigger_id)
    if stored is None:
        raise NotFound(f"Trigger {trigger_id!r} not found", trigger_id=trigger_id)
    check_version(expected, stored.version)
    return stored


def _read(transaction: Transaction) -> tuple[dict[str, OutboundRequest], int]:
    rows = {row[0]: _of_row(row) for row in transaction.fetch(_READ)}
    return rows, number_of(transaction, SUBJECT)


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
