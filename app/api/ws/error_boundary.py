"""Error boundary of the WebSocket: logs unexpected errors under an ID."""

from __future__ import annotations

import logging
from collections.abc import Awaitable
from typing import TypeVar

from app.core.error_boundary import ErrorBoundary
from app.core.errors import TollgateError
from app.core.ids import new_id
from app.core.machine_limits import overload_of

T = TypeVar("T")
log = logging.getLogger(__name__)


async def contain(work: Awaitable[T], what: str) -> tuple[T | None, TollgateError | None]:
    """Return the result of `work`, or the typed error that it raised.

    An unexpected error becomes an internal one with nothing but an ID; the log has the traceback
    under the same ID.
    """
    with ErrorBoundary() as held:
        return await work, None
    if isinstance(held.error, TollgateError):
        return None, held.error
    if held.error is not None and (overload := overload_of(held.error)) is not None:
        log.warning("%s: %s", what, overload.message)
        return None, overload
    error_id = new_id("err")
    log.error("%s failed unexpectedly (%s)", what, error_id, exc_info=held.error)
    return None, TollgateError(f"Internal error {error_id}", error_id=error_id)
