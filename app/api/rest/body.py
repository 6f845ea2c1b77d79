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

# FastAPI sets aliases on parameter types and suppresses Pydantic's warning while it builds a route;
# our validators are built later, with the first request.
warnings.filterwarnings("ignore", category=UnsupportedFieldAttributeWarning)


class Body(BaseModel):
    """Base of request bodies: no unknown fields, no implicit conversion."""

    model_config = ConfigDict(extra="forbid", strict=True, defer_build=True)

    def sent(self, *without: str) -> dict[str, Any]:
        """Return the submitted fields, except the named ones."""
        return {name: getattr(self, name) for name in self.model_fields_set.difference(without)}


def unsent(default: Any = "") -> Any:
    """Return a field for an optional text that must not be empty.

    The schema omits the default, because clients may not send it.
    """
    return Field(default=default, json_schema_extra=_without_default)


def _without_default(schema: dict[str, Any]) -> None:
    schema.pop("default", None)


class JsonRequest(Request):
    """Request that also refuses NaN, lone surrogates and other content types."""

    async def body(self) -> bytes:
        body = await super().body()
        kind = self.headers.get("content-type", "").partition(";")[0].strip().lower()
        if body and kind != "application/json" and not kind.endswith("+json"):
            raise HTTPException(415, "Send the body as Content-Type: application/json")
        return body

    async def json(self) -> Any:
        return read_json(await self.body())


class JsonRoute(APIRoute):
    """Route that reads its body with `JsonRequest` and refuses unknown query parameters.

    A misspelled filter would otherwise match everything.
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
    """Return the query parameters of a route and its dependencies."""
    names = [field.alias for field in dependant.query_params]
    below = [name for item in dependant.dependencies for name in query_names(item)]
    return list(dict.fromkeys(names + below))


def check_query(request: Request, known: Sequence[str]) -> None:
    """Refuse unknown query parameters.

    Raises:
        InvalidInput: there are unknown parameters; each is named.
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
