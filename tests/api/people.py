"""Clients of the service with rights of their own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx2

from tests.support.http import HttpClient
from tests.support.service import Running

WORK = ("chat", "tools:call", "approve")


@asynccontextmanager
async def holding(running: Running, secret: str) -> AsyncIterator[httpx2.AsyncClient]:
    """A client that shows a token."""
    headers = {"authorization": f"Bearer {secret}"}
    async with HttpClient(base_url=running.api, headers=headers) as client:
        yield client


@asynccontextmanager
async def user(
    running: Running, name: str, *scopes: str, **limited: Any
) -> AsyncIterator[httpx2.AsyncClient]:
    """A client with a token of its own."""
    secret, _ = await running.service.tokens.create(name, scopes or WORK, **limited)
    async with holding(running, secret) as client:
        yield client


@dataclass(frozen=True, slots=True)
class Browser:
    """A signed-in browser on a page of the service."""

    client: httpx2.AsyncClient
    me: dict[str, Any]
    origin: str

    @property
    def page(self) -> dict[str, str]:
        """The headers that the page sends along with a change."""
        return {"origin": self.origin, "x-csrf-token": self.me["csrf_token"]}

    @property
    def cookie(self) -> str:
        """The cookie header that the browser sends."""
        return "; ".join(f"{name}={value}" for name, value in self.client.cookies.items())


@asynccontextmanager
async def browser(running: Running, secret: str, **headers: str) -> AsyncIterator[Browser]:
    """Sign in with a token."""
    async with HttpClient(base_url=running.api) as client:
        answer = await client.post(
            "/login", json={"token": secret}, headers={"origin": running.url, **headers}
        )
        assert answer.status_code == 200, answer.text
        yield Browser(client, answer.json(), running.url)
