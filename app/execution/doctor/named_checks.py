"""Checks of `tollgate doctor` on the external services that an operator configured."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from app.core.memory import MemorySettings
from app.core.settings import Settings
from app.execution.doctor.check import Check
from app.operations.embeddings.embedder import EmbedderFailed, TextRefused
from app.operations.embeddings.openai_compatible import embedder_of


def named_checks(settings: Settings) -> Iterator[Check]:
    """Check the configured memory database, embedding model and escalation model."""
    address = settings.memory.postgres
    if address is not None:
        yield _memory(address.get_secret_value())
    if settings.memory.embeddings_url is not None:
        yield _embeddings(settings.memory)
    model = settings.escalation.stronger_model
    if model is not None and not settings.has_key_for(model):
        yield Check("stronger_model", "warning", "stronger_model.keyless", model=model)


def _memory(address: str) -> Check:
    from app.knowledge.memory.postgres import why_unusable

    why = why_unusable(address)
    if why is None:
        return Check("memory", "ok", "memory.answers")
    return Check("memory", "warning", "memory.unusable", error=why)


def _embeddings(memory: MemorySettings) -> Check:
    """Request an embedding vector. Blocks."""
    embedder = embedder_of(memory)
    assert embedder is not None
    try:
        (vector,) = asyncio.run(embedder.embed(["hello"]))
    except (EmbedderFailed, TextRefused) as error:
        return Check(
            "embeddings", "warning", "embeddings.unusable", model=embedder.model, error=error
        )
    found = {"model": embedder.model, "numbers": len(vector)}
    return Check("embeddings", "ok", "embeddings.answers", **found)
