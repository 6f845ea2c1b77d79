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
        yield Check(
            "stronger model",
            "warning",
            f"{model} has no key",
            "nothing can be escalated to it",
            "set its provider's key, or unset TOLLGATE_ESCALATION__STRONGER_MODEL",
        )


def _memory(address: str) -> Check:
    from app.knowledge.memory.postgres import why_unusable

    meaning = "where memory is kept, instead of the service's database"
    why = why_unusable(address)
    if why is None:
        return Check("memory", "ok", "PostgreSQL answers", meaning)
    fix = "start it, or correct TOLLGATE_MEMORY__POSTGRES"
    return Check("memory", "warning", f"PostgreSQL cannot be used: {why}", meaning, fix)
