"""Request bodies: JSON in UTF-8, read strictly."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Annotated, Any

import orjson
from fastapi import Request, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException

Identifier = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.:\-]{1,128}$")]
PathId = Annotated[str, Field(max_length=128)]


class Body(BaseModel):
    """Base of request bodies: no unknown field, no silent conversion."""

    model_config = ConfigDict(extra="forbid", strict=True)


class JsonRequest(Request):
    """Refuses what the default reader lets pass: NaN, lone surrogates, other content types."""

    async def body(self) -> bytes:
        body = await super().body()
        kind = self.headers.get("content-type", "").partition(";")[0].strip().lower()
        if body and kind != "application/json" and not kind.endswith("+json"):
            raise HTTPException(415, "Send the body as Content-Type: application/json")
        return body

    async def json(self) -> Any:
        return orjson.loads(await self.body())


class JsonRoute(APIRoute):
    """A route whose body is read by `JsonRequest`."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()

        async def handle(request: Request) -> Response:
            return await handler(JsonRequest(request.scope, request.receive))

        return handle
