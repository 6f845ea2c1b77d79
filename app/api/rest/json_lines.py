"""Streamed responses of JSON lines."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from starlette.responses import StreamingResponse

MEDIA_TYPE = "application/x-ndjson"


def documented_lines(description: str, example: str) -> dict[str, Any]:
    """Return the OpenAPI entry of a response of JSON lines."""
    content = {"schema": {"type": "string"}, "example": example}
    return {"description": description, "content": {MEDIA_TYPE: content}}


async def json_lines(pages: AsyncIterator[bytes]) -> StreamingResponse:
    """Stream pages of lines; an error before the first page fails the request."""
    first = await anext(pages, b"")

    async def lines() -> AsyncIterator[bytes]:
        yield first
        async for page in pages:
            yield page

    return StreamingResponse(lines(), media_type=MEDIA_TYPE)
