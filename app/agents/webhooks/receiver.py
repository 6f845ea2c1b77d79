"""Receipt of deliveries: signature, duplicate detection, and start of the run."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Callable, Sequence

from app.agents.run_subjects import RunSubjects
from app.agents.runs import RunService
from app.agents.sessions import Sessions
from app.agents.webhooks.deliveries import Deliveries, DeliveryRun
from app.agents.webhooks.model import Webhook
from app.agents.webhooks.repository import WebhookRepository
from app.agents.webhooks.signatures import HEADER, Signature, read_signature
from app.core.clock import Clock
from app.core.errors import Conflict, NotFound, TollgateError, Unauthenticated
from app.core.ids import new_id
from app.core.token_bucket import TokenBucket
from app.governance.audit.log import AuditLog
from app.governance.limits import QuotaSubject

MAX_BODY_BYTES = 256 << 10
_REMEMBERED = 10_000
_LONGEST_NAME = 64


class WebhookReceiver:
    """Entry point for other systems.

    Attributes:
        repository: stored webhooks.
    """

    def __init__(
        self,
        repository: WebhookRepository,
        deliveries: Deliveries,
        sessions: Sessions,
        runs: RunService,
        subjects: RunSubjects,
        clock: Clock,
        audit: AuditLog,
        prompt_of: Callable[[Webhook, bytes], str],
    ) -> None:
        self.repository = repository
        self._deliveries = deliveries
        self._sessions = sessions
        self._runs = runs
        self._subjects = subjects
        self._clock = clock
        self._audit = audit
        self._prompt_of = prompt_of
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
        if not found.is_timely(self._clock.time()):
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
        if found is None or not fits or not signature.is_timely(self._clock.time()):
            raise self._refused(name, source, "wrong signature")
        webhook = found[0]
        if webhook.paused:
            raise _paused(webhook)
        digest = signature.digest(webhook.id)
        if digest in self._seen:
            raise _known()
        now = self._clock.monotonic()
        most = webhook.per_minute
        bucket = self._rates.setdefault(webhook.id, TokenBucket.per_minute(most, now))
        bucket.limit_to(most)
        bucket.spend(now, "Too many deliveries; wait a moment")
        # Before the first await: the second of two concurrent deliveries costs nothing.
        self._remember(digest)
        begun = DeliveryRun(new_id("run"), new_id("ses"))
        try:
            quota_subject = await self._quota_subject(webhook)
            if not await self._deliveries.claim(webhook, signature, digest, begun):
                raise _known()
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

    async def _begin(
        self,
        webhook: Webhook,
        digest: str,
        begun: DeliveryRun,
        quota_subject: QuotaSubject,
        body: bytes,
    ) -> None:
        text = self._prompt_of(webhook, body)
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
            await self._deliveries.release(digest)
            raise
        await self._deliveries.flush()

    async def _quota_subject(self, webhook: Webhook) -> QuotaSubject:
        """Return the subject the run is counted for; pause a webhook that cannot run any more.

        Raises:
            Conflict: its agent or project no longer exists, or its token is invalid.
        """
        try:
            self._subjects.check_agent(webhook.agent_id)
            self._subjects.check_project(webhook.project_id)
            return await self._subjects.quota_subject(webhook.token_id, webhook.owner)
        except NotFound as error:
            await self.repository.pause_for(webhook.id, error.message)
        except Unauthenticated:
            reason = "The token that created or resumed this webhook is no longer valid"
            await self.repository.pause_for(webhook.id, reason)
        raise _paused(webhook)

    def _refused(self, name: str, source: str, reason: str) -> Unauthenticated:
        """Return the same error for every failed authentication."""
        self._audit.refused(source, reason=reason, detail={"webhook": name[:_LONGEST_NAME]})
        return Unauthenticated(f"{HEADER} does not prove the sender")


def _paused(webhook: Webhook) -> Conflict:
    return Conflict(f"The webhook {webhook.name!r} is paused")


def _known() -> Conflict:
    return Conflict("This delivery was already received; sign it again to resend it")
