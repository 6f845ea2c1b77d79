"""Limits of one token, tool or agent, and their JSON form.

Values only; `app/execution/limits/limiter.py` counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import orjson

from app.core.errors import InvalidInput
from app.core.field_problems import problem

MAX_COUNT = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits; None means unlimited, 0 allows nothing.

    Attributes:
        calls_per_minute: calls per minute, which is also the burst size.
        concurrent: maximum concurrent calls.
        calls_per_run: maximum calls of one run.
        tokens_per_session: maximum tokens of all model requests of one session.
        cost_per_session: maximum cost of those, in dollars.
    """

    calls_per_minute: int | None = None
    concurrent: int | None = None
    calls_per_run: int | None = None
    tokens_per_session: int | None = None
    cost_per_session: float | None = None

    def __bool__(self) -> bool:
        """Return whether anything is limited."""
        return self != NO_LIMITS

    @property
    def of_calls(self) -> bool:
        """Return whether calls are limited, not only sessions."""
        return not (
            self.calls_per_minute is None and self.concurrent is None and self.calls_per_run is None
        )

    @classmethod
    def from_json(cls, value: object, *, field: str = "limits", of_calls: bool = False) -> Limits:
        """Parse limits from a mapping or its JSON text; empty or null means no limits.

        Args:
            of_calls: refuse limits of sessions, which would not be counted.

        Raises:
            InvalidInput: an unknown key or invalid value; the message lists every problem.
        """
        if value is None or value == "":
            return NO_LIMITS
        if isinstance(value, str | bytes):
            try:
                value = orjson.loads(value)
            except orjson.JSONDecodeError:
                raise InvalidInput(f"{field} is not valid JSON text", field=field) from None
        if not isinstance(value, Mapping):
            raise InvalidInput(f"{field} must be an object", field=field)
        known = CALL_NAMES if of_calls else NAMES
        found = {key: why for key, item in value.items() if (why := _problem(key, item, known))}
        if found:
            errors = [
                problem(f"{field}.{key!s:.60}", why, "invalid_limit") for key, why in found.items()
            ]
            message = "; ".join(f"{item['path']}: {item['message']}" for item in errors)
            raise InvalidInput(message, field=field, errors=errors)
        return cls(**{key: _number(key, item) for key, item in value.items()}) or NO_LIMITS

    def to_json(self) -> dict[str, int | float]:
        """Return the limits, without unlimited ones."""
        return {name: value for name in NAMES if (value := getattr(self, name)) is not None}

    @staticmethod
    def tightest(first: Limits | None, second: Limits | None) -> Limits:
        """Return the smaller of each pair; a limit in only one of them applies."""
        if not first or not second:
            return first or second or NO_LIMITS
        return Limits(
            **{name: _smaller(getattr(first, name), getattr(second, name)) for name in NAMES}
        )


NAMES = tuple(field.name for field in fields(Limits))
CALL_NAMES = ("calls_per_minute", "concurrent", "calls_per_run")
NO_LIMITS = Limits()
COST = "cost_per_session"


def _schema(names: tuple[str, ...]) -> dict[str, Any]:
    properties = {
        name: {
            "type": ["number" if name == COST else "integer", "null"],
            "minimum": 0,
            "maximum": MAX_COUNT,
        }
        for name in names
    }
    return {"properties": properties, "additionalProperties": False}


SCHEMA = _schema(NAMES)
CALLS_SCHEMA = _schema(CALL_NAMES)


@dataclass(frozen=True, slots=True)
class QuotaSubject:
    """Subject that usage is counted for: the requesting token, and its limits.

    Attributes:
        user_id: requesting user; None for the session's owner.
    """

    token_id: str | None = None
    limits: Limits = NO_LIMITS
    user_id: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the stored form."""
        return {
            "token_id": self.token_id,
            "limits": self.limits.to_json(),
            "user_id": self.user_id,
        }

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> QuotaSubject:
        """Parse the output of `to_json`."""
        limits = Limits.from_json(kept.get("limits"))
        return cls(kept.get("token_id"), limits, kept.get("user_id"))


NOBODY = QuotaSubject()


def _smaller(left: Any, right: Any) -> Any:
    if left is None or right is None:
        return right if left is None else left
    return min(left, right)


def _number(key: str, value: Any) -> Any:
    """Convert `3.0`, which some JSON writers make of 3, to 3."""
    return value if value is None or key == COST else int(value)


def _problem(key: object, value: object, known: tuple[str, ...]) -> str | None:
    """Return the problem of one entry, or None."""
    if key not in known:
        return f"unknown limit; available are {', '.join(known)}"
    if value is None:
        return None
    kind = "a number" if key == COST else "a whole number"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return f"must be {kind}, or null for no limit"
    if not 0 <= value <= MAX_COUNT:
        return f"must be between 0 and {MAX_COUNT}"
    if key != COST and value != int(value):
        return f"must be {kind}, or null for no limit"
    return None
