"""Assembly of memory."""

from __future__ import annotations

from app.config.settings import Settings
from app.core.clock import Clock
from app.core.redaction import Redactor
from app.db.writer import DatabaseWriter
from app.governance.audit.log import AuditLog
from app.knowledge.memory.administration import MemoryAdministration
from app.knowledge.memory.fts5_index import Fts5Index
from app.knowledge.memory.reader import SqliteReader
from app.knowledge.memory.repository import MemoryRepository
from app.knowledge.memory.semantic_index import SemanticIndex
from app.knowledge.memory.storage import SqliteStorage, Storage
from app.operations.embeddings.openai_compatible import embedder_of


def memory_on(
    settings: Settings, db: DatabaseWriter, clock: Clock, redactor: Redactor, audit: AuditLog
) -> MemoryAdministration:
    """Create the memory of an installation; its `store` is the service for tools.

    Raises:
        ConfigurationError: the address of its separate database is invalid.
    """
    storage = _storage(settings, db, redactor, audit)
    meanings = _meanings(settings, storage, redactor)
    store = MemoryRepository(storage, clock, redactor, settings.memory, meanings)
    return MemoryAdministration(store, storage, db, clock, audit=audit, redactor=redactor)


def _meanings(settings: Settings, storage: Storage, redactor: Redactor) -> SemanticIndex | None:
    embedder = embedder_of(settings.memory)
    if embedder is None:
        return None
    return SemanticIndex(storage, embedder, redactor, least=settings.memory.embeddings_least)


def _storage(
    settings: Settings, db: DatabaseWriter, redactor: Redactor, audit: AuditLog
) -> Storage:
    address = settings.memory.postgres
    if address is None:
        reader = SqliteReader(settings.database_path)
        return SqliteStorage(db, reader, audit, Fts5Index())
    from app.knowledge.memory.postgres import PostgresStorage, secrets_of

    chosen = address.get_secret_value()
    redactor.learn("the memory's database", secrets_of(chosen))
    return PostgresStorage(chosen, db, audit)
