"""Problems of the machine or the database, and the work refused during them.

Shortages are detected early: new work is refused while running work can still be finished and
recorded, and is accepted again automatically. A thread inspects the machine, because an
unresponsive disk must not block the loop.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from app.config.settings import Settings
from app.core import machine_limits
from app.core.background import background
from app.core.clock import Clock
from app.core.error_boundary import try_call
from app.core.errors import Overloaded, StorageUnavailable, TollgateError
from app.core.machine_limits import Use
from app.core.metrics import Metrics
from app.db.writer import SqliteWriter
from app.governance.audit.log import AuditEntry, AuditLog

log = logging.getLogger(__name__)

Refuses = Literal["nothing", "changes", "everything"]

LOOK_S = 0.5
_SILENT_S = 15.0
_JUMP_S = 30.0
_JUMP_SHOWN_S = 600.0
_LARGE_WAL = 512 << 20
_FEW_INODES = 1000
_RETRY_MS = {"everything": 2000, "changes": 5000, "nothing": 0}


@dataclass(frozen=True, slots=True)
class HealthCondition:
    """A present or imminent problem.

    Attributes:
        code: suffix of the doctor's `found_code` after `condition.`.
        refuses: work refused during the problem.
        values: values for the doctor's sentence.
    """

    code: str
    refuses: Refuses
    message: str
    values: dict[str, str] = field(default_factory=dict)

    def error(self) -> TollgateError:
        """Return the error for refused requests."""
        kind = StorageUnavailable if self.refuses == "changes" else Overloaded
        return kind(
            f"{self.message}; try again later",
            condition=self.code,
            retry_after_ms=_RETRY_MS[self.refuses],
        )


class Listener(Protocol):
    """Callback on the loop when a problem starts or ends."""

    def __call__(self, condition: HealthCondition, *, lasts: bool) -> None: ...


class HealthMonitor:
    """Monitor of one service. Everything except the inspection of the machine runs on the loop's
    thread.

    Attributes:
        listeners: called for each condition that starts or ends.
    """

    def __init__(
        self, settings: Settings, db: SqliteWriter, clock: Clock, metrics: Metrics, audit: AuditLog
    ) -> None:
        self._settings = settings
        self._db = db
        self._metrics = metrics
        self._audit = audit
        self._machine = MachineMonitor(
            settings.data_dir, settings.serving.disk_reserve_mb << 20, clock
        )
        self._known: dict[str, HealthCondition] = {}
        self.listeners: set[Listener] = set()
        self._admits = asyncio.Event()
        self._admits.set()

    def current(self) -> tuple[HealthCondition, ...]:
        """Return the current problems, most severe first."""
        return (*self._of_the_database(), *self._machine.found)

    @property
    def noted(self) -> tuple[HealthCondition, ...]:
        """Return the problems at the last call of the listeners."""
        return tuple(self._known.values())

    def refusal(self, *, changes: bool, from_memory: bool = False) -> TollgateError | None:
        """Return why new work is refused, or None.

        Args:
            changes: the work writes something; reads are accepted for longer.
            from_memory: the database is not needed.
        """
        for condition in self.current():
            if from_memory and condition.code.startswith("database_"):
                continue
            if condition.refuses == "everything" or (changes and condition.refuses == "changes"):
                failing = self._db.error
                is_ours = condition.code.startswith("database_")
                return failing if is_ours and failing is not None else condition.error()
        return None

    async def admitted(self) -> None:
        """Wait until new work is accepted; returns immediately if there is no problem."""
        await self._admits.wait()

    @asynccontextmanager
    async def watched(self) -> AsyncIterator[None]:
        """Watch the machine and the database for the duration of the block."""
        await self._db.mark()
        self._machine.start()
        try:
            async with background(self._watch(), self._mark()):
                yield
        finally:
            self._machine.stop()

    async def _mark(self) -> None:
        """Mark the database's file as soon as it is writable."""
        while True:
            with suppress(StorageUnavailable):
                await self._db.mark()
                return
            await asyncio.sleep(LOOK_S)

    async def _watch(self) -> None:
        while True:
            self._db.look()
            self._note()
            await asyncio.sleep(LOOK_S)

    def _note(self) -> None:
        """Report started and ended problems to the log, the metrics and the audit."""
        now = {condition.code: condition for condition in self.current()}
        for code in now.keys() - self._known.keys():
            log.warning("%s (%s)", now[code].message, code)
            self._metrics.count("conditions", code)
            self._notify(now[code], lasts=True)
        for code in self._known.keys() - now.keys():
            log.info("%s has ended", code)
            self._notify(self._known[code], lasts=False)
        if now.keys() != self._known.keys() and self._db.error is None:
            detail = {"conditions": sorted(now)}
            self._audit.record(AuditEntry("service.conditions", actor="system", detail=detail))
        refuses = self.refusal(changes=True) is not None
        (self._admits.clear if refuses else self._admits.set)()
        self._metrics.gauges["not_ready"] = float(refuses)
        self._known = now

    def _notify(self, condition: HealthCondition, *, lasts: bool) -> None:
        for listener in tuple(self.listeners):
            listener(condition, lasts=lasts)

    def _of_the_database(self) -> Iterator[HealthCondition]:
        error = self._db.error
        if error is None:
            return
        if self._db.is_lost:
            yield HealthCondition(
                "database_lost", "everything", error.message, {"error": error.message}
            )
        else:
            yield HealthCondition(
                "database_failing", "changes", error.message, {"error": error.message}
            )


class MachineMonitor:
    """Periodic inspection of the machine, in a thread.

    Attributes:
        found: problems at the last inspection.
    """

    def __init__(self, folder: Path, disk_reserve: int, clock: Clock) -> None:
        self._folder = folder
        self._disk_reserve = disk_reserve
        self._clock = clock
        self._found: tuple[HealthCondition, ...] = ()
        self._short: set[str] = set()
        self._stop = threading.Event()
        self._looked_at = time.monotonic()
        self._thread: threading.Thread | None = None
        self._offset: float | None = None
        self._jumped_at = float("-inf")

    @property
    def found(self) -> tuple[HealthCondition, ...]:
        silent = time.monotonic() - self._looked_at
        if self._thread is None or silent < _SILENT_S:
            return self._found
        message = f"The data directory has not responded for {silent:.0f} s"
        return (*self._found, HealthCondition("disk_silent", "changes", message))

    def start(self) -> None:
        """Check once, then continue in a thread."""
        self._stop.clear()
        self._look()
        self._thread = threading.Thread(target=self._run, name="conditions", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop the inspections; a hanging inspection keeps its thread."""
        self._stop.set()
        self._thread = None

    def _run(self) -> None:
        while not self._stop.wait(LOOK_S):
            _, error = try_call(self._look)
            if error is not None:
                log.error("cannot check the state of the machine", exc_info=error)

    def _look(self) -> None:
        found = tuple(
            condition
            for look in (self._of_limits, self._of_the_disk, self._of_the_clock)
            for condition in look()
        )
        self._looked_at = time.monotonic()
        self._found = found

    def _of_limits(self) -> Iterator[HealthCondition]:
        yield from self._short_of("files_low", machine_limits.open_files(), "open files")
        for use in (machine_limits.address_space(), machine_limits.cgroup_memory()):
            yield from self._short_of("memory_low", use, "MiB of memory", shift=20)
        yield from self._short_of("processes_low", machine_limits.cgroup_processes(), "processes")

    def _short_of(
        self, code: str, use: Use | None, what: str, *, shift: int = 0
    ) -> Iterator[HealthCondition]:
        if use is None:
            return
        key = f"{code} {use.limit}"
        is_short = not use.has_recovered if key in self._short else use.is_short
        (self._short.add if is_short else self._short.discard)(key)
        if is_short:
            used, limit = use.used >> shift, use.limit >> shift
            message = f"{used} of {limit} {what} are used"
            yield HealthCondition(
                code, "everything", message, {"used": str(used), "limit": str(limit)}
            )

    def _of_the_disk(self) -> Iterator[HealthCondition]:
        try:
            disk = os.statvfs(self._folder)
        except OSError as error:
            message = f"The data directory is not accessible ({error.strerror})"
            yield HealthCondition(
                "data_dir_gone", "changes", message, {"error": str(error.strerror)}
            )
            return
        if disk.f_flag & os.ST_RDONLY:
            yield HealthCondition(
                "data_dir_read_only", "changes", "The data directory is read-only"
            )
        free = disk.f_bavail * disk.f_frsize
        short = self._disk_reserve * (5 if "disk" in self._short else 4) // 4
        is_short = free < short or (disk.f_files > 0 and disk.f_favail < _FEW_INODES)
        (self._short.add if is_short else self._short.discard)("disk")
        if is_short:
            mib = str(free >> 20)
            message = f"The disk of the data directory is nearly full ({mib} MiB free)"
            yield HealthCondition("disk_low", "changes", message, {"mib": mib})
        yield from self._of_the_journal()

    def _of_the_journal(self) -> Iterator[HealthCondition]:
        try:
            size = (self._folder / "tollgate.db-wal").stat().st_size
        except OSError:
            return
        if size > _LARGE_WAL:
            mib = str(size >> 20)
            message = (
                f"The database's journal has grown to {mib} MiB: a reader has been open "
                "for too long"
            )
            yield HealthCondition("journal_large", "nothing", message, {"mib": mib})

    def _of_the_clock(self) -> Iterator[HealthCondition]:
        offset = self._clock.time() - self._clock.monotonic()
        if self._offset is not None and abs(offset - self._offset) > _JUMP_S:
            self._jumped_at = self._clock.monotonic()
            log.warning("the machine's clock was changed by %+.0f s", offset - self._offset)
        self._offset = offset
        if self._clock.monotonic() - self._jumped_at < _JUMP_SHOWN_S:
            yield HealthCondition("clock_set", "nothing", "The machine's clock was changed")
