"""What `tollgate doctor` says about what an operator has named beside the service itself."""

from __future__ import annotations

from collections.abc import Iterator

from app.core.settings import Settings
from app.execution.doctor.check import Check


def named_checks(settings: Settings) -> Iterator[Check]:
    """The database of the memory, and the model that runs are escalated to; where they are set."""
    address = settings.memory.postgres
    if address is not None:
        yield _memory(address.get_secret_value())
    model = settings.escalation.stronger_model
    if model is not None and not settings.has_key_for(model):
        yield Check("stronger_model", "warning", "stronger_model.keyless", model=model)


def _memory(address: str) -> Check:
    from app.knowledge.memory.postgres import why_unusable

    why = why_unusable(address)
    if why is None:
        return Check("memory", "ok", "memory.answers")
    return Check("memory", "warning", "memory.unusable", error=why)
