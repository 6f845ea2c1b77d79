"""Access of the API to sub-agent tasks."""

from __future__ import annotations

from app.api.service import Service
from app.domain.delegation import DELEGATION, ENDED, Delegation


def delegation_of(service: Service) -> Delegation:
    """Return the service that starts sub-agents.

    Raises:
        ToolFailed: this installation has no such service.
    """
    return service.services.require(DELEGATION, Delegation)  # type: ignore[type-abstract]


async def stop_delegation(service: Service, session_id: str, id_: str) -> bool:
    """Stop a batch or a task of a session; return False if it had already ended.

    Raises:
        NotFound: the session has no such batch or task.
    """
    delegation = delegation_of(service)
    found = await delegation.report(id_, session_id=session_id)
    if all(task.status in ENDED for task in found.tasks):
        return False
    await delegation.cancel(id_, session_id=session_id)
    return True
