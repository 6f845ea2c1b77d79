"""Webhooks stored by administrators; secrets are encrypted, and shown only once."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from app.agents.webhooks.model import PAUSED, PLACE, Webhook
from app.core.clock import Clock, isoformat
from app.core.errors import AlreadyExists, ConfigurationError, InvalidInput, NotFound
from app.core.ids import new_id
from app.core.redaction import Redactor
from app.db.writer import DatabaseWriter, Transaction
from app.execution.projects import Projects
from app.governance.agent_store import AgentStore
from app.governance.audit.log import AuditLog
from app.governance.config_table import ConfigSchema, ConfigTable
from app.governance.config_versions import ConfigVersions
from app.knowledge.sources.encryption import KeyRing

log = logging.getLogger(__name__)

SUBJECT = "webhooks"
SECRET_PREFIX = "whsec_"  # noqa: S105 - how they begin
_SECRET = "secret"  # noqa: S105 - the name of a field
_FORGET = "DELETE FROM webhook_deliveries WHERE webhook_id = ?"


class WebhookRepository:
    """Creates, changes and deletes webhooks, and caches them in memory."""

    def __init__(
        self,
        db: DatabaseWriter,
        clock: Clock,
        audit: AuditLog,
        changes: ConfigVersions,
        agents: AgentStore,
        projects: Projects,
        redactor: Redactor,
        keys: KeyRing,
    ) -> None:
        self._clock = clock
        self._agents = agents
        self._projects = projects
        self._redactor = redactor
        self._keys = keys
        self._secrets: dict[str, bytes] = {}
        self._table = ConfigTable(db, audit, changes, _SCHEMA, self._loaded)

    async def load(self) -> None:
        """Load the stored webhooks, including changes by other processes."""
        await self._table.load()

    def get(self, webhook_id: str) -> Webhook:
        """Return a webhook.

        Raises:
            NotFound: the webhook does not exist.
        """
        return self._table.get(webhook_id)

    def list_all(self) -> list[Webhook]:
        """Return every webhook, by name."""
        return list(self._table.items.values())

    def named(self, name: str) -> tuple[Webhook, bytes] | None:
        """Return the webhook with the name and its secret; None if either is unavailable."""
        for webhook in self._table.items.values():
            if webhook.name == name and webhook.id in self._secrets:
                return webhook, self._secrets[webhook.id]
        return None

    async def create(
        self, fields: Mapping[str, Any], *, actor: str, token_id: str | None
    ) -> tuple[Webhook, str]:
        """Store a new webhook; return it with its secret, which is not shown again.

        Raises:
            InvalidInput: a field is invalid; names it.
            AlreadyExists: another webhook has the name.
            ConfigurationError: the keys are invalid.
        """
        moment = isoformat(self._clock.now())
        blank = Webhook(new_id("whk"), token_id=token_id, created_at=moment, updated_at=moment)
        secret = _new_secret()

        def add(transaction: Transaction) -> str:
            made = self._sealed(replace(blank, **fields), secret)
            self._check(transaction, made)
            self._check_run(made)
            self._table.insert(transaction, made)
            self._note(transaction, None, made, actor, "created")
            return made.id

        return self.get(await self._table.write(add)), secret

    async def change(
        self, webhook_id: str, fields: Mapping[str, Any], *, actor: str, expected: int | None
    ) -> Webhook:
        """Change fields of `Webhook`.

        Raises:
            NotFound: the webhook does not exist.
            InvalidInput: a field is invalid; names it.
            AlreadyExists: another webhook has the name.
            VersionMismatch: it has changed since `expected` was read.
        """

        def alter(before: Webhook) -> Webhook:
            return replace(before, **fields)

        return await self._alter(webhook_id, alter, actor, "changed", expected)

    async def pause(
        self,
        webhook_id: str,
        *,
        paused: bool,
        actor: str,
        token_id: str | None,
        expected: int | None,
    ) -> Webhook:
        """Pause or resume a webhook; on resume, runs are counted for the resuming user.

        Raises:
            NotFound, VersionMismatch: see `change`.
            InvalidInput: its agent or project no longer exists.
        """

        def alter(before: Webhook) -> Webhook:
            if paused:
                return replace(before, paused=before.paused or PAUSED)
            return replace(before, paused="", token_id=token_id)

        word = "paused" if paused else "resumed"
        return await self._alter(webhook_id, alter, actor, word, expected)

    async def rotate(
        self, webhook_id: str, *, actor: str, expected: int | None
    ) -> tuple[Webhook, str]:
        """Replace the secret; the new one is not shown again, the old one ends immediately.

        Raises:
            NotFound, VersionMismatch: see `change`.
            ConfigurationError: the keys are invalid.
        """
        secret = _new_secret()

        def alter(before: Webhook) -> Webhook:
            return self._sealed(before, secret)

        return await self._alter(webhook_id, alter, actor, "rotated", expected), secret

    async def remove(self, webhook_id: str, *, actor: str, expected: int | None) -> Webhook:
        """Delete a webhook and return it; active runs continue.

        Raises:
            NotFound, VersionMismatch: see `change`.
        """

        def remove(transaction: Transaction) -> Webhook:
            before = self._table.current(transaction, webhook_id, expected)
            self._table.delete(transaction, webhook_id)
            transaction.execute(_FORGET, (webhook_id,))
            self._note(transaction, before, None, actor, "removed")
            return before

        return await self._table.write(remove)

    async def pause_for(self, webhook_id: str, reason: str) -> None:
        """Pause a webhook that cannot run, so that it does not fail repeatedly."""

        def change(transaction: Transaction) -> None:
            before = self._table.stored(transaction).get(webhook_id)
            if before is not None and not before.paused:
                after = self._next(replace(before, paused=reason))
                self._table.update(transaction, after)
                self._note(transaction, before, after, "system", "paused")

        await self._table.write(change)

    # -- internal -------------------------------------------------------------------------

    async def _alter(
        self,
        webhook_id: str,
        alter: Callable[[Webhook], Webhook],
        actor: str,
        outcome: str,
        expected: int | None,
    ) -> Webhook:
        def write(transaction: Transaction) -> None:
            before = self._table.current(transaction, webhook_id, expected)
            after = alter(before)
            if after == before:
                return
            self._check(transaction, after)
            if not after.paused:
                self._check_run(after)
            after = self._next(after)
            self._table.update(transaction, after)
            self._note(transaction, before, after, actor, outcome)

        await self._table.write(write)
        return self.get(webhook_id)

    def _next(self, webhook: Webhook) -> Webhook:
        moment = isoformat(self._clock.now())
        return replace(webhook, version=webhook.version + 1, updated_at=moment)

    def _sealed(self, webhook: Webhook, secret: str) -> Webhook:
        # Bound to the row: it cannot be decrypted in another row.
        return replace(webhook, sealed=self._keys.seal(secret, row=webhook.id, field=_SECRET))

    def _check(self, transaction: Transaction, webhook: Webhook) -> None:
        if self._table.is_name_taken(transaction, webhook):
            raise AlreadyExists(f"Webhook {webhook.name!r} already exists", field="name")
        if webhook.template.count(PLACE) > 1:
            raise InvalidInput(f"template contains {PLACE} more than once", field="template")

    def _check_run(self, webhook: Webhook) -> None:
        field = "agent_id"
        try:
            if webhook.agent_id is not None:
                self._agents.require(webhook.agent_id)
            field = "project_id"
            if webhook.project_id is not None:
                self._projects.about(webhook.project_id)
        except NotFound as error:
            raise InvalidInput(error.message, field=field) from None

    def _note(
        self,
        transaction: Transaction,
        before: Webhook | None,
        after: Webhook | None,
        actor: str,
        outcome: str,
    ) -> None:
        subject = after or before
        assert subject is not None
        self._table.note(
            transaction,
            subject.id,
            actor,
            None if before is None else before.shown(),
            None if after is None else after.shown(),
            agent_id=subject.agent_id,
            outcome=outcome,
        )

    def _loaded(self, _: Mapping[str, Webhook]) -> None:
        found: dict[str, bytes] = {}
        for webhook in self._table.items.values():
            try:
                text = self._keys.open(webhook.sealed, row=webhook.id, field=_SECRET)
            except ConfigurationError:
                log.warning("cannot decrypt the secret of the webhook %r: rotate it", webhook.name)
            else:
                found[webhook.id] = text.encode()
        self._secrets = found
        self._redactor.learn(SUBJECT, (secret.decode() for secret in found.values()))


def _new_secret() -> str:
    return f"{SECRET_PREFIX}{secrets.token_urlsafe(32)}"


def _row(webhook: Webhook) -> Sequence[Any]:
    return (
        *(webhook.id, webhook.name, webhook.owner, webhook.agent_id, webhook.project_id),
        *(webhook.token_id, webhook.template, webhook.per_minute, webhook.sealed, webhook.paused),
        *(webhook.version, webhook.created_at, webhook.updated_at),
    )


def _of_row(row: Sequence[Any]) -> Webhook:
    return Webhook(*row)


def _missing(webhook_id: str) -> NotFound:
    return NotFound(f"Webhook {webhook_id!r} not found", webhook_id=webhook_id)


_SCHEMA = ConfigSchema(
    name=SUBJECT,
    kind="governance.webhook",
    columns=(
        *("id", "name", "owner", "agent_id", "project_id", "token_id", "template", "per_minute"),
        *("secret", "paused", "version", "created_at", "updated_at"),
    ),
    order="name",
    item=_of_row,
    row=_row,
    missing=_missing,
)
