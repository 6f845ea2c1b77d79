"""Delegated work, as the edge reaches it."""

from __future__ import annotations

from app.api.service import Service
from app.tools.delegation.ports import DELEGATION, ENDED, Delegation


def delegation_of(service: Service) -> Delegation:
    """Whoever starts sub-agents.

    Raises:
        ToolFailed: nobody does here.
    """
    return service.runtime.services.require(DELEGATION, Delegation)  # type: ignore[type-abstract]


async def stop_delegation(service: Service, session_id: str, id_: str) -> bool:
    """Stop a batch or a task of a session; whether there was something left to stop.

    Raises:
        NotFound: the session has no such batch or task.
    """
    delegation = delegation_of(service)
    found = await delegation.report(id_, session_id=session_id)
    if all(task.status in ENDED for task in found.tasks):
        return False
    await delegation.cancel(id_, session_id=session_id)
    return True
