"""Receipt of deliveries: signature, duplicate detection, and start of the run."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from app.agents.runs import RunService
from app.agents.sessions import Sessions
from app.agents.webhooks.model import Webhook, words
from app.agents.webhooks.repository import WebhookRepository
from app.agents.webhooks.signatures import HEADER, WINDOW_S, Signature, read_signature
from app.core.clock import isoformat
from app.core.errors import Conflict, NotFound, TollgateError, Unauthenticated
from app.core.ids import new_id
from app.core.token_bucket import TokenBucket
from app.db.writer import Transaction
from app.execution.runtime import Runtime
from app.governance.audit.log import AuditEntry
from app.governance.identity.tokens import Tokens
from app.governance.limits import QuotaSubject
from app.knowledge.outbound_requests.setup import outbound_request_keys

MAX_BODY_BYTES = 256 << 10
_REMEMBERED = 10_000
_MARGIN_S = 60
_LONGEST_NAME = 64
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


class WebhookReceiver:
    """Entry point for other systems.

    Attributes:
        repository: stored webhooks.
    """

    def __init__(
        self,
        runtime: Runtime,
        repository: WebhookRepository,
        sessions: Sessions,
        runs: RunService,
        tokens: Tokens,
    ) -> None:
        self.repository = repository
        self._runtime = runtime
        self._sessions = sessions
        self._runs = runs
        self._tokens = tokens
        self._rates: dict[str, TokenBucket] = {}
        # Used for unknown webhooks, so that the check takes the same time.
        self._nobody = secrets.token_bytes(49)
        self._seen: OrderedDict[str, None] = OrderedDict()

    def signature(self, headers: Sequence[str], name: str, *, source: str) -> Signature:
        """Return the signature of a request, before its body is read.

        Raises:
            Unauthenticated: it is missing, or outside the time window.
        """
        found = read_signature(headers)
        if found is None:
            raise self._refused(name, source, "no signature")
        if not found.is_timely(self._runtime.clock.time()):
            raise self._refused(name, source, "signature outside the time window")
        return found

    async def receive(
        self, name: str, signature: Signature, body: bytes, *, source: str
    ) -> DeliveryRun:
        """Start the run of a delivery, which is on disk when this returns.

        Raises:
            Unauthenticated: the webhook does not exist, or did not sign this body.
            Conflict: it is paused, or the delivery was already received.
            RateLimited: there were too many deliveries.
            StorageUnavailable: the database is not writable; the delivery may be sent again.
        """
        found = self.repository.named(name)
        fits = signature.fits(self._nobody if found is None else found[1], body)
        # Checked again: a slow body must not outlive the record of the first delivery.
        if found is None or not fits or not signature.is_timely(self._runtime.clock.time()):
            raise self._refused(name, source, "wrong signature")
        webhook = found[0]
        if webhook.paused:
            raise _paused(webhook)
        digest = signature.digest(webhook.id)
        if digest in self._seen:
            raise _known()
        now = self._runtime.clock.monotonic()
        most = webhook.per_minute
        bucket = self._rates.setdefault(webhook.id, TokenBucket.per_minute(most, now))
        bucket.limit_to(most)
        bucket.spend(now, "Too many deliveries; wait a moment")
        # Before the first await: the second of two concurrent deliveries costs nothing.
        self._remember(digest)
        begun = DeliveryRun(new_id("run"), new_id("ses"))
        try:
            quota_subject = await self._quota_subject(webhook)
            await self._claim(webhook, signature, digest, begun)
            await self._begin(webhook, digest, begun, quota_subject, body)
        except TollgateError:
            # Received deliveries are in the database; others may be sent again.
            self._seen.pop(digest, None)
            raise
        return begun

    def _remember(self, digest: str) -> None:
        self._seen[digest] = None
        if len(self._seen) > _REMEMBERED:
            self._seen.popitem(last=False)

    async def _claim(
        self, webhook: Webhook, signature: Signature, digest: str, begun: DeliveryRun
    ) -> None:
        """Claim the delivery; any second one, here or in another process, is refused."""
        now = self._runtime.clock.now()
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
            self._runtime.audit.within(
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

        if not await self._runtime.db.transact(claim):
            raise _known()

    async def _begin(
        self,
        webhook: Webhook,
        digest: str,
        begun: DeliveryRun,
        quota_subject: QuotaSubject,
        body: bytes,
    ) -> None:
        limit = self._runtime.settings.triggers.body_chars
        text = words(webhook, body, self._runtime.redactor.text, limit)
        try:
            session = self._sessions.create(
                user_id=webhook.owner,
                title=webhook.name,
                project_id=webhook.project_id,
                agent_id=webhook.agent_id,
                session_id=begun.session_id,
                meta={"webhook_id": webhook.id},
            )
            await self._runs.send_message(
                session,
                [{"type": "text", "text": text}],
                agent_id=webhook.agent_id,
                quota_subject=quota_subject,
                trigger="webhook",
                run_id=begun.run_id,
                attended=False,
            )
        except TollgateError:
            # Nothing was started, so the sender may retry.
            await self._runtime.db.transact(lambda tx: tx.execute(_RELEASE, (digest,)))
            raise
        await self._runtime.db.flush_with_retry()

    async def _quota_subject(self, webhook: Webhook) -> QuotaSubject:
        """Return the subject the run is counted for; pause a webhook that cannot run any more.

        Raises:
            Conflict: its agent or project no longer exists, or its token is invalid.
        """
        try:
            if webhook.agent_id is not None:
                self._runtime.agents.require(webhook.agent_id)
            if webhook.project_id is not None:
                self._runtime.projects.about(webhook.project_id)
            if webhook.token_id is None:
                return QuotaSubject(user_id=webhook.owner)
            token = await self._tokens.holder(webhook.token_id)
        except NotFound as error:
            await self.repository.pause_for(webhook.id, error.message)
        except Unauthenticated:
            reason = "The token that created or resumed this webhook is no longer valid"
            await self.repository.pause_for(webhook.id, reason)
        else:
            return QuotaSubject(token.id, token.limits, webhook.owner)
        raise _paused(webhook)

    def _refused(self, name: str, source: str, reason: str) -> Unauthenticated:
        """Return the same error for every failed authentication."""
        self._runtime.audit.refused(source, reason=reason, detail={"webhook": name[:_LONGEST_NAME]})
        return Unauthenticated(f"{HEADER} does not prove the sender")


def _paused(webhook: Webhook) -> Conflict:
    return Conflict(f"The webhook {webhook.name!r} is paused")


def _known() -> Conflict:
    return Conflict("This delivery was already received; sign it again to resend it")


async def open_webhooks(
    runtime: Runtime, sessions: Sessions, runs: RunService, tokens: Tokens
) -> WebhookReceiver:
    """Create the receiver, with the stored webhooks.

    Raises:
        ConfigurationError: the keys in the settings are invalid.
    """
    repository = WebhookRepository(
        runtime, outbound_request_keys(runtime.settings, runtime.redactor)
    )
    await repository.load()
    return WebhookReceiver(runtime, repository, sessions, runs, tokens)
