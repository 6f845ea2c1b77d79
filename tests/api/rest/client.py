"""What tests say to the REST edge."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2


async def new_session(client: httpx2.AsyncClient, **fields: Any) -> str:
    """Start a session; its id."""
    answer = await client.post("/sessions", json=fields)
    assert answer.status_code == 201, answer.text
    session_id: str = answer.json()["id"]
    return session_id


async def call(client: httpx2.AsyncClient, name: str, **body: Any) -> dict[str, Any]:
    """Call a tool; the answer, which must be a 200."""
    answer = await client.post(f"/tools/{name}/call", json=body)
    assert answer.status_code == 200, answer.text
    result: dict[str, Any] = answer.json()
    return result


async def problem(answer: httpx2.Response) -> dict[str, Any]:
    """The problem details of an answer, checked against the status."""
    assert answer.headers["content-type"] == "application/problem+json"
    reported: dict[str, Any] = answer.json()
    assert reported["status"] == answer.status_code
    assert reported["type"] == f"urn:tollgate:error:{reported['code']}"
    return reported


class EventReader:
    """Reads the events of one stream, one by one."""

    def __init__(self, answer: httpx2.Response) -> None:
        self._lines = answer.aiter_lines()

    async def next(self) -> tuple[str | None, dict[str, Any]]:
        """Id and body of the next event."""
        name, data = None, None
        async with asyncio.timeout(60):
            async for line in self._lines:
                if line.startswith("id: "):
                    name = line[4:]
                elif line.startswith("data: "):
                    data = json.loads(line[6:])
                elif not line and data is not None:
                    return name, data
        raise EOFError

    async def until(self, kind: str) -> list[dict[str, Any]]:
        """Events up to and with the first of a type."""
        events: list[dict[str, Any]] = []
        while not events or events[-1]["type"] != kind:
            events.append((await self.next())[1])
        return events


@asynccontextmanager
async def watching(
    client: httpx2.AsyncClient, session_id: str, **options: Any
) -> AsyncIterator[EventReader]:
    """Watch a session's event stream."""
    path = f"/sessions/{session_id}/events/stream"
    async with client.stream("GET", path, **options) as answer:
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/event-stream")
        yield EventReader(answer)
