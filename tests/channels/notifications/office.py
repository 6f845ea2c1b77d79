"""Notifications on a database of their own, with channels whose provider is a script."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from app.channels.notifications.channel_store import NotificationChannel
from app.channels.notifications.facts import RequestFacts
from app.channels.notifications.kinds import (
    KindSecrets,
    KindSettings,
    TransportKind,
    TransportServices,
)
from app.channels.notifications.notifications import Notifications, assemble_notifications
from app.channels.notifications.subscriptions import NotificationSubscription, SubscriptionInput
from app.channels.notifications.transport import Notification
from app.core.clock import ManualClock
from app.core.metrics import Metrics
from app.core.redaction import Redactor
from app.db.writer import SqliteWriter
from app.domain.owners import SessionOwner
from app.governance.audit.log import AuditLog
from app.governance.config_versions import ConfigVersions
from app.knowledge.sources.encryption import KeyRing
from tests.support.database import new_database

FACTS = RequestFacts(
    kind="confirmation",
    item_id="cfm_1",
    session_id="ses_1",
    owner=SessionOwner("ann", "default", None),
    agent=None,
    tool_name="bash",
    title="bash: rm -rf build",
    risk="low",
    expires_at="2026-01-01T00:10:00.000Z",
    digest="9f86",
)


class ScriptSettings(KindSettings):
    """None."""


class ScriptSecrets(KindSecrets):
    """A secret that must not be seen."""

    key: SecretStr | None = None


@dataclass(frozen=True)
class Delivered:
    """What a provider was asked to do."""

    how: str
    address: str
    message: Notification
    reference: str | None = None


@dataclass
class ScriptedTransport:
    """Provider that notes messages.

    Attributes:
        script: what the next requests raise, or the event that they wait for.
    """

    delivered: list[Delivered] = field(default_factory=list)
    script: deque[BaseException | asyncio.Event | None] = field(default_factory=deque)
    running: int = 0
    most: int = 0

    async def send(self, address: str, message: Notification) -> str | None:
        await self._take(Delivered("send", address, message))
        return f"ref-{message.id}"

    async def update(self, address: str, reference: str | None, message: Notification) -> None:
        await self._take(Delivered("update", address, message, reference))

    async def _take(self, delivered: Delivered) -> None:
        self.delivered.append(delivered)
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            item = self.script.popleft() if self.script else None
            if isinstance(item, asyncio.Event):
                await item.wait()
            elif item is not None:
                raise item
        finally:
            self.running -= 1

    @property
    def noted(self) -> list[tuple[str, str]]:
        return [(item.how, item.message.event) for item in self.delivered]


@dataclass
class Office:
    """Notifications with one channel of the scripted kind, and everything around."""

    notifications: Notifications
    db: SqliteWriter
    clock: ManualClock
    metrics: Metrics
    peer: ScriptedTransport
    redactor: Redactor
    entitled: bool = True

    async def channel(self, name: str = "script", **fields: Any) -> NotificationChannel:
        return await self.notifications.channels.create(
            {"name": name, "kind": "script", **fields}, {"key": "s3cret-of-channel"}, actor="boss"
        )

    async def subscription(
        self, channel: NotificationChannel, audience: str = "user:ann", address: str = ""
    ) -> NotificationSubscription:
        return await self.notifications.subscriptions.create(
            SubscriptionInput(channel.id, audience, address), actor="ann", token_id="tok_1"
        )

    async def open(self, *subscriptions: NotificationSubscription, **fields: Any) -> RequestFacts:
        facts = replace(FACTS, **fields)
        await self.notifications.outbox.append(facts, "opened", subscriptions)
        return facts

    async def turn(self) -> None:
        """Deliver what is due, until nothing is in delivery and nothing more is due."""
        sender = self.notifications.sender
        while True:
            await sender.send_due()
            if not sender.in_delivery:
                return
            await sender.delivered()

    async def sent_one(self) -> None:
        """Wait until an opened message was sent."""
        while ("opened", "sent") not in await self.states():  # noqa: ASYNC110 - asks the database
            await asyncio.sleep(0)

    async def rows(self) -> list[tuple[str, str, str | None]]:
        sql = "SELECT event, state, error FROM notifications ORDER BY seq"
        return await self.db.transact(lambda work: work.fetch(sql))

    async def states(self) -> list[tuple[str, str]]:
        return [(event, state) for event, state, _ in await self.rows()]


@asynccontextmanager
async def office(folder: Path, *, answers: bool = True) -> AsyncIterator[Office]:
    """Open notifications; on a folder with a database, those of the process before."""
    path = folder / "tollgate.db"
    if not path.exists():
        new_database(path)
    clock, metrics, redactor, peer = ManualClock(), Metrics(), Redactor(), ScriptedTransport()
    db = SqliteWriter(path)
    await db.start()
    kind = TransportKind(
        *("script", ScriptSettings, ScriptSecrets, lambda *_: peer, lambda *_: "script://here"),
        address=lambda address: address,
        answers=answers,
    )
    changes = ConfigVersions(db)
    notifications = assemble_notifications(
        db,
        clock,
        audit=AuditLog(db, clock, redactor),
        changes=changes,
        keys=KeyRing(lambda: [b"k" * 32]),
        redactor=redactor,
        metrics=metrics,
        services=TransportServices(_no_web, clock),
        kinds={"script": kind},
        public_url="https://tollgate.test",
        days=30,
    )
    await notifications.load()
    made = Office(notifications, db, clock, metrics, peer, redactor)

    async def entitled(subscription: NotificationSubscription, facts: RequestFacts) -> bool:
        return made.entitled

    notifications.sender.entitle(entitled)
    try:
        yield made
    finally:
        await db.close()


def _no_web() -> Any:
    raise AssertionError("the scripted kind sends nothing")
