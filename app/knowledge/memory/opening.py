"""Memory, put together."""

from __future__ import annotations

from app.core.clock import Clock
from app.core.redaction import Redactor
from app.core.settings import Settings
from app.db.ledger import Ledger
from app.governance.audit.writing import Audit
from app.knowledge.memory.administration import MemoryAdministration
from app.knowledge.memory.reading import Reader
from app.knowledge.memory.store import StoredMemory


def memory_on(
    settings: Settings, ledger: Ledger, clock: Clock, redactor: Redactor, audit: Audit
) -> MemoryAdministration:
    """The memory of an installation; its `store` is the service for tools."""
    reader = Reader(settings.database_path)
    store = StoredMemory(ledger, clock, redactor, settings.memory, reader)
    return MemoryAdministration(store, reader, ledger, clock, audit=audit, redactor=redactor)
