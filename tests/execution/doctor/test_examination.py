"""What the doctor says about what is named: for the memory, and as a stronger model.

Examining the service while it runs: bounded, and once at a time.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from threading import Event

import pytest
from pydantic import SecretStr

from app.config.memory import MemorySettings
from app.config.sections import EscalationSettings
from app.config.settings import load_settings
from app.core.errors import InvalidInput
from app.execution.doctor.examination import Doctor, Installation, findings, named_checks
from app.execution.doctor.hook_checks import load_hooks
from app.governance.identity.tokens import Token
from app.operations.protocols.sandbox import SandboxStatus
from app.resolver.reasons import DisabledReason
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


@pytest.fixture
def installation(tmp_path: Path) -> Installation:
    settings = load_settings(data_dir=tmp_path, port=0, _env_file=None, anthropic_api_key=None)
    status = SandboxStatus(levels={}, missing={}, landlock_abi=0, sentence="")
    return Installation(
        settings,
        tokens=list,
        loaded_hooks=lambda: load_hooks(settings),
        sandbox=lambda: status,
        disabled=dict,
        is_running=True,
    )


async def test_it_finds_what_the_command_finds(installation: Installation):
    found, is_complete = await Doctor().examine(installation, patience_s=60)

    assert is_complete
    assert [check.name for check in found] == [check.name for check in findings(installation)]
    assert {"python", "data directory", "model key", "SQLite FTS5"} <= {c.name for c in found}
    assert "address" not in {check.name for check in found}


async def test_a_check_that_hangs_leaves_what_was_found_and_is_not_started_twice(
    installation: Installation,
):
    begun: list[Event] = []
    reached, release = Event(), Event()

    def hang() -> list[Token]:
        begun.append(reached)
        reached.set()
        release.wait()
        return []

    hanging = Installation(
        installation.settings,
        tokens=hang,
        loaded_hooks=installation.loaded_hooks,
        sandbox=installation.sandbox,
        disabled=installation.disabled,
        is_running=True,
    )
    doctor = Doctor()
    try:
        first = asyncio.create_task(doctor.examine(hanging, patience_s=60))
        await asyncio.to_thread(reached.wait)
        found, is_complete = await doctor.examine(hanging, patience_s=0)
        assert (is_complete, found[-1].name, len(begun)) == (False, "model key", 1)
    finally:
        release.set()
    whole, is_complete = await first
    assert is_complete
    assert len(whole) > len(found)


async def test_what_keeps_tools_from_being_known_is_a_finding(installation: Installation):
    def fail() -> dict[str, DisabledReason]:
        raise InvalidInput("The gate is shut")

    shut = Installation(
        installation.settings,
        tokens=installation.tokens,
        loaded_hooks=installation.loaded_hooks,
        sandbox=installation.sandbox,
        disabled=fail,
    )
    found = {check.name: check for check in (await Doctor().examine(shut, patience_s=60))[0]}
    assert (found["tools"].state, found["tools"].found) == ("broken", "The gate is shut")
    assert found["address"].state == "ok"
