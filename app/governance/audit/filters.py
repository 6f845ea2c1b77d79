"""Filters for audit log entries, without database imports."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from app.core.clock import SystemClock, isoformat
from app.core.errors import InvalidInput

_AGO = re.compile(r"([0-9]{1,9})\s*([smhdw])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


@dataclass(frozen=True, slots=True)
class AuditFilters:
    """Filters for audit log entries; None matches all.

    Attributes:
        kind: prefix of the kind: `governance.` matches every change by an administrator.
        since, until: times in the form of rows; `since` is inclusive, `until` exclusive.
    """

    kind: str | None = None
    actor: str | None = None
    subject: str | None = None
    tool_name: str | None = None
    agent_id: str | None = None
    session_id: str | None = None
    run_id: str | None = None
    operation_id: str | None = None
    verdict: str | None = None
    outcome: str | None = None
    since: str | None = None
    until: str | None = None


def moment_of(text: str, field: str, *, now: datetime | None = None) -> str:
    """Return a time in the form of rows.

    Args:
        now: reference for durations such as `90m`; by default the clock.

    Raises:
        InvalidInput: it is neither a duration nor an ISO 8601 date or time (UTC without a zone).
    """
    text = text.strip()
    try:
        ago = _AGO.fullmatch(text)
        if ago is not None:
            length = timedelta(seconds=int(ago[1]) * _SECONDS[ago[2]])
            return isoformat((now or SystemClock().now()) - length)
        moment = datetime.fromisoformat(text)
        return isoformat(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    except (ValueError, OverflowError, OSError):
        raise InvalidInput(
            f"{field} must be a date or time such as 2026-11-21T09:30:00Z, or an age "
            "such as 90m, 1h, 7d or 2w",
            field=field,
        ) from None
