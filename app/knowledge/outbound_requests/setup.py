"""Assembly of outbound requests."""

from __future__ import annotations

from collections.abc import Callable

from app.config.settings import Settings
from app.core.clock import Clock
from app.core.redaction import Redactor
from app.db.writer import DatabaseWriter
from app.domain.outbound_requests import TRIGGERS
from app.governance.audit.log import AuditLog
from app.governance.config_versions import ConfigVersions
from app.knowledge.outbound_requests.allow_list import AllowList
from app.knowledge.outbound_requests.sender import OutboundRequests
from app.knowledge.outbound_requests.store import OutboundRequestStore
from app.knowledge.sources.encryption import KeyFile, KeyRing, keys_of_setting
from app.toolkit.services import Services


def outbound_request_keys(settings: Settings, redactor: Redactor) -> KeyRing:
    """Return the keys that encrypt the secrets of triggers and webhooks.

    Raises:
        ConfigurationError: the keys in the settings are invalid.
    """
    given = settings.triggers.keys
    if given is None:
        return KeyRing(KeyFile(settings.data_dir / "keys" / "triggers.key").read)
    keys = keys_of_setting(given)
    redactor.learn("trigger keys", given.get_secret_value().split(","))
    return KeyRing(lambda: keys)


def assemble_outbound_requests(
    settings: Settings,
    db: DatabaseWriter,
    clock: Clock,
    services: Services,
    *,
    keys: KeyRing,
    audit: AuditLog,
    changes: ConfigVersions,
    redactor: Redactor,
    on_offer: Callable[[], None],
) -> OutboundRequests:
    """Bind the parts. The tool is available while any request is possible.

    Args:
        on_offer: called when the availability changes.

    Raises:
        ConfigurationError: an entry of `triggers.allow` is not an address.
    """

    def offer() -> None:
        offered = triggers if triggers.is_of_use else None
        if services.get(TRIGGERS) is not offered:
            services.register(TRIGGERS, offered)
            on_offer()

    store = OutboundRequestStore(db, clock, audit, changes, keys, redactor, offer)
    triggers = OutboundRequests(store, AllowList(settings.triggers.allow), services, redactor)
    return triggers
