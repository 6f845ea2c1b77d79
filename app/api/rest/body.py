"""Request bodies: JSON in UTF-8, read strictly."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Coroutine, Sequence
from typing import Annotated, Any

from fastapi import Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict, Field
from pydantic.warnings import UnsupportedFieldAttributeWarning
from starlette.exceptions import HTTPException

from app.api.json_body import read_json
from app.core.errors import InvalidInput
from app.core.field_problems import problem

Identifier = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.:\-]{1,128}$")]
PathId = Annotated[str, Field(max_length=128)]
MAX_NAMED = 100

# FastAPI gives the alias of a parameter to its type, and silences what Pydantic says to that as
# long as it makes the route; what checks our bodies is built later, with the first of them.
warnings.filterwarnings("ignore", category=UnsupportedFieldAttributeWarning)


class Body(BaseModel):
    """Base of request bodies: no unknown field, no silent conversion."""

    model_config = ConfigDict(extra="forbid", strict=True, defer_build=True)

    def sent(self, *without: str) -> dict[str, Any]:
        """The fields that the request has sent, except the named ones."""
        return {name: getattr(self, name) for name in self.model_fields_set.difference(without)}


def unsent(default: Any = "") -> Any:
    """The default of a text that may be missing, where an empty one would be refused.

    The schema names none: whoever sent it would be refused too.
    """
    return Field(default=default, json_schema_extra=_without_default)


def _without_default(schema: dict[str, Any]) -> None:
    schema.pop("default", None)


class JsonRequest(Request):
    """Refuses what the default reader lets pass: NaN, lone surrogates, other content types."""

    async def body(self) -> bytes:
        body = await super().body()
        kind = self.headers.get("content-type", "").partition(";")[0].strip().lower()
        if body and kind != "application/json" and not kind.endswith("+json"):
            raise HTTPException(415, "Send the body as Content-Type: application/json")
        return body

    async def json(self) -> Any:
        return read_json(await self.body())


class JsonRoute(APIRoute):
    """A route whose body is read by `JsonRequest`, and whose query holds only what it knows.

    A filter with a slip in its name would otherwise let everything through.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()
        known = query_names(self.dependant)
        strict = InvalidInput.http_status in self.responses

        async def handle(request: Request) -> Response:
            if strict:
                check_query(request, known)
            return await handler(JsonRequest(request.scope, request.receive))

        return handle


def query_names(dependant: Dependant) -> list[str]:
    """The query parameters that a route and what it depends on read."""
    names = [field.alias for field in dependant.query_params]
    below = [name for item in dependant.dependencies for name in query_names(item)]
    return list(dict.fromkeys(names + below))


def check_query(request: Request, known: Sequence[str]) -> None:
    """Refuse parameters that nothing reads.

    Raises:
        InvalidInput: the query holds one that the route does not know; each is named.
    """
    unknown = [name for name in request.query_params if name not in known]
    if not unknown:
        return
    there = f"allowed are {', '.join(known)}" if known else "none is available"
    errors = [
        problem(f"query.{name}", f"unknown; {there}", "extra_forbidden")
        for name in dict.fromkeys(unknown)
    ]
    message = "; ".join(f"{item['path']}: {item['message']}" for item in errors[:5])
    raise InvalidInput(message, errors=errors[:MAX_NAMED])
