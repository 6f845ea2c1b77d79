"""What the doctor says about what is named: for the memory, and as a stronger model."""

from __future__ import annotations

import asyncio
from pathlib import Path

from pydantic import SecretStr

from app.core.memory import MemorySettings
from app.core.sections import EscalationSettings
from app.execution.doctor.named_checks import named_checks
from tests.support.model_api import making
from tests.support.service import settings_for


def test_nothing_is_said_where_nothing_is_named(tmp_path: Path):
    assert list(named_checks(settings_for(tmp_path))) == []


def test_what_cannot_be_used_is_reported_without_its_password(tmp_path: Path):
    settings = settings_for(tmp_path)
    settings.memory.postgres = SecretStr("postgresql://reader:very-secret-7Qx@127.0.0.1:1/memory")
    settings.escalation = EscalationSettings(stronger_model="openai:gpt-9")
    memory, model = named_checks(settings)
    assert (memory.name, memory.state, model.state) == ("memory", "warning", "warning")
    assert "very-secret-7Qx" not in str(memory)
    assert "127.0.0.1" in memory.found
    assert "gpt-9 has no key" in model.found


def test_an_address_that_is_none_is_not_repeated(tmp_path: Path):
    settings = settings_for(tmp_path)
    settings.memory.postgres = SecretStr("postgresql://a:se cret@[x")
    (memory,) = named_checks(settings)
    assert memory.state == "warning"
    assert "cret" not in memory.found


async def test_who_tells_meanings_is_asked_for_a_vector(tmp_path: Path):
    settings = settings_for(tmp_path)
    async with making() as server:
        settings.memory = MemorySettings(embeddings_url=server.url, embeddings_key="sk-Ab12Cd34Ef")
        server.answer = {"data": [{"index": 0, "embedding": [0.5, 1, 2]}]}
        (check,) = await asyncio.to_thread(lambda: list(named_checks(settings)))
        assert (check.state, check.found) == ("ok", "text-embedding-3-small returns 3 dimensions")
        server.status = 401
        (check,) = await asyncio.to_thread(lambda: list(named_checks(settings)))
    assert check.state == "warning"
    assert "EMBEDDINGS_KEY" in check.found
    assert "sk-Ab12Cd34Ef" not in str(check.to_dict())
