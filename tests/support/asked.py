"""Waiting for the reported state of a service."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tests.support.http import HttpClient

PATIENCE_S = 60


class Asked:
    """Service as seen by its operator."""

    def __init__(self, client: HttpClient) -> None:
        self.client = client

    async def health(self) -> dict[str, Any]:
        """Return the health, which is always available."""
        answer = await self.client.get("/health")
        assert answer.status_code == 200, answer.text
        reported: dict[str, Any] = answer.json()
        return reported

    async def until(self, *conditions: str) -> dict[str, Any]:
        """Wait until health has exactly these conditions; return the `ready` response."""
        now: list[str] = []
        for _ in range(PATIENCE_S * 20):
            now = sorted((await self.health())["conditions"])
            if now == sorted(conditions):
                break
            await asyncio.sleep(0.05)
        assert now == sorted(conditions)
        ready = await self.client.get("/ready")
        assert ready.status_code == (503 if conditions else 200), ready.text
        reported: dict[str, Any] = ready.json()
        if conditions:
            assert set(conditions) <= set(reported["details"]["conditions"])
            assert ready.headers["content-type"] == "application/problem+json"
        return reported

    async def new_session(self) -> str:
        """Create a session, which is acknowledged; return its ID."""
        answer = await self.client.post("/sessions", json={})
        assert answer.status_code == 201, answer.text
        made: str = answer.json()["id"]
        return made

    async def sessions(self) -> set[str]:
        answer = await self.client.get("/sessions")
        assert answer.status_code == 200, answer.text
        return {session["id"] for session in answer.json()["sessions"]}


@asynccontextmanager
async def asking(url: str) -> AsyncIterator[Asked]:
    async with HttpClient(base_url=f"{url}/api/v1") as client:
        yield Asked(client)
