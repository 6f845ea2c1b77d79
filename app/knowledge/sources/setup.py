"""Assembly of data sources."""

from __future__ import annotations

from dataclasses import dataclass

from app.config.settings import Settings
from app.core.clock import Clock
from app.core.redaction import Redactor
from app.db.writer import DatabaseWriter
from app.governance.audit.log import AuditLog
from app.governance.config_versions import ConfigVersions
from app.knowledge.sources.connection_manager import ConnectionManager
from app.knowledge.sources.encryption import KeyFile, KeyRing, keys_of_setting
from app.knowledge.sources.inspection import SourceInspection
from app.knowledge.sources.query_audit import QueryAudit
from app.knowledge.sources.schemas import Schemas
from app.knowledge.sources.service import SourceService
from app.knowledge.sources.store import SourceStore


@dataclass(frozen=True, slots=True)
class SourceServices:
    """Data sources: stored, inspected by administrators, read by agents."""

    store: SourceStore
    inspection: SourceInspection
    reading: SourceService


def assemble_sources(
    settings: Settings,
    db: DatabaseWriter,
    clock: Clock,
    *,
    audit: AuditLog,
    changes: ConfigVersions,
    redactor: Redactor,
) -> SourceServices:
    """Bind the parts. Keys are read and connections opened on demand.

    Raises:
        ConfigurationError: the keys in the settings are invalid.
    """
    chosen = settings.sources
    key_file: KeyFile | None = None
    if chosen.keys is not None:
        given = keys_of_setting(chosen.keys)
        redactor.learn("data source keys", chosen.keys.get_secret_value().split(","))
        keys = KeyRing(lambda: given)
    else:
        key_file = KeyFile(settings.data_dir / "keys" / "sources.key")
        keys = KeyRing(key_file.read)
    store = SourceStore(db, clock, audit, changes, keys)
    hidden = (str(settings.data_dir.resolve()),)
    links = ConnectionManager(store, chosen, clock, redactor, hidden=hidden)
    schemas = Schemas(links, clock)
    inspection = SourceInspection(store, links, schemas, clock, key_file=key_file)
    log = QueryAudit(db, clock, audit)
    return SourceServices(store, inspection, SourceService(store, links, schemas, log, clock))
