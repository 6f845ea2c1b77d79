"""A service that starts after one that is gone, and what that has left it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from app.agents.models.anthropic import AnthropicModel, AnthropicSettings
from app.api.service import Service
from app.bootstrap.service import open_service
from app.config.settings import Settings
from tests.agents.delegation.department import Department, Goals, open_department
from tests.agents.delegation.states import rows_of, states_kept
from tests.agents.models.exchange import KEY, Waits
from tests.execution.lab import PATIENCE_S
from tests.support.scripted_anthropic.server import Received, ScriptedAnthropic


@asynccontextmanager
async def next_service(settings: Settings, goals: Goals) -> AsyncIterator[Service]:
    """The service that starts after one that is gone."""
    async with ScriptedAnthropic(fallback=goals, api_key=KEY) as provider:
        configured = AnthropicSettings(api_key=KEY, base_url=provider.base_url, max_retries=0)
        model = AnthropicModel(configured, sleep=Waits())
        async with open_service(settings, model=model) as service:
            yield service
        assert provider.refused == []


async def all_over(service: Service) -> None:
    """Wait until nothing is delegated any more."""
    delegation = service.delegation
    for batch in await delegation.reports(session_id=None, running=True):
        await delegation.wait(batch.batch_id, session_id=None, timeout_s=PATIENCE_S)
    # The end of the last task stands there; that of its batch comes in the next steps.
    await until(lambda: no_batch_runs(service.settings))


def no_batch_runs(settings: Settings) -> bool:
    return not rows_of(settings, "SELECT 1 FROM delegation_batches WHERE status = 'running'")


async def until(happens: Callable[[], Any]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not happens():  # noqa: ASYNC110 - nobody tells of it
            await asyncio.sleep(0)


def reported(request: Received) -> dict[str, str]:
    """What the model reads of each call, by its id."""
    return {key: item["content"][0]["text"] for key, item in request.tool_results().items()}


def tasks_of(settings: Settings) -> list[tuple[Any, ...]]:
    return rows_of(settings, "SELECT label, status FROM delegated_tasks ORDER BY position")


@asynccontextmanager
async def cut(
    settings: Settings, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[tuple[Department, list[Path]]]:
    """A department, and the states that its service leaves when it is killed."""
    with states_kept(folder, monkeypatch) as states:
        async with open_department(settings) as department:
            yield department, states
