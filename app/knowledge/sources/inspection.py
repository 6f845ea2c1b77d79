"""Administrators' operations on data sources: test, discovery, key rotation."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from app.core.clock import Clock
from app.core.errors import ConfigurationError, Conflict, ToolFailed
from app.knowledge.sources.connection_manager import ConnectionManager
from app.knowledge.sources.drivers.protocol import TableFacts
from app.knowledge.sources.encryption import KeyFile
from app.knowledge.sources.model import Source
from app.knowledge.sources.schemas import Schemas
from app.knowledge.sources.store import SourceStore

MAX_LISTED = 1000


class Advice(NamedTuple):
    """Recommended fix for administrators: for programs, and as a sentence."""

    code: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Inspection:
    """Result of a source's test.

    Attributes:
        error: why it is unusable, or None. `error_code` is for programs.
        latency_ms: time to open a connection in milliseconds.
        warnings: problems that an administrator should fix.
    """

    ok: bool
    error: str | None = None
    error_code: str | None = None
    latency_ms: float | None = None
    server: str | None = None
    tls: bool | None = None
    can_write: bool | None = None
    warnings: tuple[Advice, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the form as JSON: codes of warnings next to their sentences, in order."""
        return asdict(self) | {
            "warnings": [advice.sentence for advice in self.warnings],
            "warning_codes": [advice.code for advice in self.warnings],
        }


_MAY_WRITE = Advice(
    code="source_may_write",
    sentence="The account has write permission: use an account that can only read.",
)
_NO_TABLES = Advice(code="source_no_tables", sentence="No table is allowed yet.")
_NO_AGENTS = Advice(code="source_no_agents", sentence="No agent may read it yet.")
_UNCHECKED = Advice(
    code="source_certificate_unchecked",
    sentence="The server's certificate is not verified: set tls to verify.",
)


class SourceInspection:
    """Tests sources and reads their schemas."""

    def __init__(
        self,
        store: SourceStore,
        links: ConnectionManager,
        schemas: Schemas,
        clock: Clock,
        *,
        key_file: KeyFile | None,
    ) -> None:
        self._store = store
        self._links = links
        self._schemas = schemas
        self._clock = clock
        self._key_file = key_file

    async def test(self, source_id: str) -> Inspection:
        """Connect, query the server's properties, and compare the allowed tables.

        Raises:
            NotFound: the source does not exist.
        """
        source = self._store.get(source_id)
        started = self._clock.monotonic()
        try:
            async with self._links.alone(source) as connection:
                latency = (self._clock.monotonic() - started) * 1000
                facts = await connection.facts()
            schema = await self._schemas.of(source, refresh=True)
        except (ToolFailed, ConfigurationError) as error:
            return Inspection(ok=False, error=error.message, error_code=_code_of(error))
        warnings = [
            Advice(code="source_table_missing", sentence=f"The table {name} does not exist.")
            for name in schema.missing
        ]
        warnings += [
            Advice(
                code="source_mask_missing",
                sentence=f"The mask {name} matches no column: its table cannot be read.",
            )
            for name in schema.unfit
        ]
        return Inspection(
            ok=True,
            latency_ms=round(latency, 3),
            server=facts.version,
            tls=facts.tls,
            can_write=facts.can_write,
            warnings=(*warnings, *_advice(source, can_write=facts.can_write)),
        )

    async def discover(self, source_id: str) -> Sequence[TableFacts]:
        """Return tables that could be allowed, at most `MAX_LISTED`, by name.

        Raises:
            NotFound: the source does not exist.
            Conflict: it is currently unavailable; the message has the reason.
        """
        source = self._store.get(source_id)
        try:
            async with self._links.alone(source) as connection:
                return await connection.tables(None, MAX_LISTED)
        except (ToolFailed, ConfigurationError) as error:
            raise Conflict(error.message, source_id=source_id) from None

    async def rotate_key(self, *, actor: str) -> int:
        """Create a key in the service's key file, and encrypt every password with the present key.

        Returns the number of passwords.

        Raises:
            Conflict: a key or password is unreadable; every key stays.
        """
        file = self._key_file
        try:
            added = await asyncio.to_thread(file.add) if file is not None else None
            count = await self._store.reseal(actor=actor)
            if file is not None and added is not None:
                await asyncio.to_thread(file.retire, added)
        except ConfigurationError as error:
            raise Conflict(error.message) from None
        return count


def _code_of(error: ToolFailed | ConfigurationError) -> str:
    """Return the cause named by a driver, or another error's code."""
    code: str = error.details.get("cause") or error.details.get("code") or error.code
    return code


def _advice(source: Source, *, can_write: bool) -> list[Advice]:
    found = []
    if can_write:
        found.append(_MAY_WRITE)
    if not source.tables:
        found.append(_NO_TABLES)
    if not source.agents:
        found.append(_NO_AGENTS)
    remote = source.address.host is not None and source.address.tls != "verify"
    if remote and source.address.host not in ("127.0.0.1", "::1", "localhost"):
        found.append(_UNCHECKED)
    return found
