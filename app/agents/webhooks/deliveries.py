"""Record of received deliveries: each starts one run, in any process."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from app.agents.webhooks.model import Webhook
from app.agents.webhooks.signatures import WINDOW_S, Signature
from app.core.clock import Clock, isoformat
from app.db.writer import DatabaseWriter, Transaction
from app.governance.audit.log import AuditEntry, AuditLog

_MARGIN_S = 60
_CLAIM = (
    "INSERT INTO webhook_deliveries (digest, webhook_id, run_id, session_id, received_at,"
    " expires_at) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (digest) DO NOTHING"
)
_TRIM = "DELETE FROM webhook_deliveries WHERE expires_at < ?"
_RELEASE = "DELETE FROM webhook_deliveries WHERE digest = ?"


@dataclass(frozen=True, slots=True)
class DeliveryRun:
    """Run started by a delivery."""

    run_id: str
    session_id: str


class Deliveries:
    """Claims deliveries in the database, with their audit entries."""

    def __init__(self, db: DatabaseWriter, clock: Clock, audit: AuditLog) -> None:
        self._db = db
        self._clock = clock
        self._audit = audit

    async def claim(
        self, webhook: Webhook, signature: Signature, digest: str, begun: DeliveryRun
    ) -> bool:
        """Record a delivery; False if it was received before, here or in another process."""
        now = self._clock.now()
        # Until its signature has certainly expired.
        expires = datetime.fromtimestamp(int(signature.moment), UTC)
        expires += timedelta(seconds=WINDOW_S + _MARGIN_S)
        row = (
            *(digest, webhook.id, begun.run_id, begun.session_id),
            *(isoformat(now), isoformat(expires)),
        )

        def claim(transaction: Transaction) -> bool:
            transaction.execute(_TRIM, (isoformat(now),))
            if not transaction.execute(_CLAIM, row):
                return False
            self._audit.within(
                transaction,
                AuditEntry(
                    "webhook.accepted",
                    actor=f"webhook:{webhook.name}",
                    subject=webhook.id,
                    session_id=begun.session_id,
                    run_id=begun.run_id,
                    agent_id=webhook.agent_id,
                    detail={"owner": webhook.owner, "digest": digest},
                ),
            )
            return True

        return await self._db.transact(claim)

    async def release(self, digest: str) -> None:
        """Forget a delivery that started nothing, so that its sender may retry."""
        await self._db.transact(lambda transaction: transaction.execute(_RELEASE, (digest,)))

    async def flush(self) -> None:
        """Wait until everything is on disk."""
        await self._db.flush_with_retry()
