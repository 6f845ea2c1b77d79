"""Writing of audit log entries: append-only, redacted, hash-chained."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from hashlib import sha256
from typing import Any, Literal

import orjson

from app.core.clock import Clock, stamp
from app.core.redaction import Redactor
from app.core.text import dump_json
from app.db.writer import DatabaseWriter, Transaction
from app.governance.audit.chain import ADD_AUDIT, add_within

Level = Literal["none", "shape", "redacted", "full"]
MAX_DETAIL_CHARS = 64_000
_SHOWN_OF_CUT = 4_000
_SHAPE_KEYS, _SHAPE_DEPTH = 50, 6

PER_SOURCE = 10
PER_WINDOW = 100
WINDOW_S = 60.0


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One row to write.

    Attributes:
        kind: dotted, such as `call.finished` or `governance.rule`.
        actor: the user, or what acts without one (`system`).
        before, after: what a change changed; secrets are masked.
        detail: more facts; secrets are masked.
        edited_args: a call's arguments, kept at the level of detail.
    """

    kind: str
    _: KW_ONLY
    actor: str
    subject: str | None = None
    before: Any = None
    after: Any = None
    session_id: str | None = None
    run_id: str | None = None
    agent_id: str | None = None
    tool_name: str | None = None
    operation_id: str | None = None
    verdict: str | None = None
    outcome: str | None = None
    detail: Mapping[str, Any] | None = None
    edited_args: Mapping[str, Any] | None = None


class Refusals:
    """Admits the first few refusals of each source and window, and counts the rest."""

    def __init__(self) -> None:
        self._began = float("-inf")
        self._rows = 0
        self._left_out = 0
        self._sources: dict[str, int] = {}

    def admit(self, source: str, now: float) -> int | None:
        """Return None if no row is to be written, otherwise the number of rows omitted since the
        last.
        """
        if now - self._began >= WINDOW_S:
            self._began, self._rows = now, 0
            self._sources.clear()
        seen = self._sources.get(source, 0)
        if seen >= PER_SOURCE or self._rows >= PER_WINDOW:
            self._left_out += 1
            return None
        self._sources[source] = seen + 1
        self._rows += 1
        left_out, self._left_out = self._left_out, 0
        return left_out


class AuditLog:
    """Writer of audit rows; `reader.py` reads and `verify.py` verifies them.

    Attributes:
        level: recorded detail of a call's arguments.
        written: rows since the start of the process, for anchoring the chain.
    """

    def __init__(
        self, db: DatabaseWriter, clock: Clock, redactor: Redactor, *, level: Level = "redacted"
    ) -> None:
        self._db = db
        self._clock = clock
        self._redactor = redactor
        self._refusals = Refusals()
        self.level: Level = level
        self.written = 0

    def record(self, entry: AuditEntry) -> None:
        """Queue one row. Await `db.flush()` if it must be on disk before going on.

        Raises:
            StorageUnavailable: commits have failed for so long that the queue is full.
        """
        self.put(entry, self._detail(entry))

    def put(self, entry: AuditEntry, detail: str) -> None:
        """`record` with the detail as JSON text that holds no secrets, in place of the entry's."""
        self.written += 1
        self._db.append(ADD_AUDIT, self._row(entry, detail))

    def within(self, transaction: Transaction, entry: AuditEntry) -> None:
        """`record` as a part of a change's own transaction: both are committed, or neither."""
        self.written += 1
        add_within(transaction, self._row(entry, self._detail(entry)))

    def refused(
        self,
        source: str,
        *,
        reason: str,
        user_id: str | None = None,
        detail: Mapping[str, Any] | None = None,
    ) -> None:
        """Record a refused sign-in or token, or an action that a known user may not do.

        Repeated refusals produce few rows, which count the rest.
        """
        who = source if user_id is None else f"user {user_id}"
        left_out = self._refusals.admit(who, self._clock.monotonic())
        if left_out is None:
            return
        facts = {"reason": reason, **(detail or {})}
        if left_out:
            facts["left_out"] = left_out
        actor = user_id or "unknown"
        self.record(AuditEntry("auth.refused", actor=actor, subject=source, detail=facts))

    def arguments(self, arguments: Any) -> str | None:
        """Return a call's arguments as JSON text at the configured detail, or None."""
        shown: Any = None
        if self.level == "none":
            return None
        if self.level == "shape":
            shown = shape(arguments, self._redactor)
        elif self.level == "full":
            shown = self._redactor.values_in(arguments)
        elif isinstance(arguments, str):
            shown = self._redactor.raw_json(arguments)
        else:
            shown = self._redactor.arguments(arguments)[0]
        return bounded_json(dump_json(shown).decode())

    def _row(self, entry: AuditEntry, detail: str) -> tuple[str | None, ...]:
        return (
            stamp(self._clock.time()),
            entry.kind,
            entry.actor,
            entry.subject,
            entry.session_id,
            entry.run_id,
            entry.agent_id,
            entry.tool_name,
            entry.operation_id,
            entry.verdict,
            entry.outcome,
            detail,
        )

    def _detail(self, entry: AuditEntry) -> str:
        facts = {} if entry.detail is None else dict(entry.detail)
        if entry.before is not None:
            facts["before"] = entry.before
        if entry.after is not None:
            facts["after"] = entry.after
        text = bounded_json(self.masked(facts)) if facts else "{}"
        if entry.edited_args is not None:
            text = _with(text, "edited_args", self.arguments(entry.edited_args) or "true")
        return text

    def shown(self, text: str) -> str:
        """Return external text, bounded for a column."""
        return self._redactor.text(text)

    def masked(self, facts: Mapping[str, Any]) -> str:
        """Return JSON text of facts without secrets."""
        encoded = dump_json(facts)
        if not self._redactor.is_clean(encoded):
            # Masked in JSON form, so that no Python type hides a secret.
            encoded = dump_json(self._redactor.arguments(orjson.loads(encoded))[0])
        return encoded.decode()


def _with(text: str, name: str, value: str) -> str:
    """Return the text of a JSON object with one more member."""
    return f'{text[:-1]}{"," if len(text) > 2 else ""}"{name}":{value}}}'


def shape(value: Any, redactor: Redactor, depth: int = 0) -> Any:
    """Return keys, types and lengths, without values."""
    if isinstance(value, str):
        return f"string({len(value)})"
    if value is None or isinstance(value, bool):
        return "null" if value is None else "boolean"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, dict) and depth < _SHAPE_DEPTH and len(value) <= _SHAPE_KEYS:
        return {
            redactor.text(str(key)): shape(item, redactor, depth + 1) for key, item in value.items()
        }
    return f"{'object' if isinstance(value, dict) else 'list'}({len(value)})"


def bounded_json(text: str) -> str:
    """Return JSON text, or a JSON object that replaces a too long one."""
    if len(text) <= MAX_DETAIL_CHARS:
        return text
    cut = {
        "cut": True,
        "characters": len(text),
        "sha256": sha256(text.encode()).hexdigest(),
        "beginning": text[:_SHOWN_OF_CUT],
    }
    return dump_json(cut).decode()
