"""The OpenAPI document: what FastAPI makes of the routes, and what holds for all of them."""

from __future__ import annotations

import gzip
from typing import Any

import orjson
from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.requests import Request
from starlette.responses import Response

from app.api import errors
from app.api.deps import SAFE_METHODS
from app.api.rest import idempotent
from app.api.rest.compressed import may_pack
from app.core.errors import AnswerNotKept, IdempotencyKeyReused, OutcomeUnknown, RequestInFlight

_REF = "#/components/schemas/{model}"
_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "Sent again under its key within ten minutes, also after a restart, the request "
    "is not carried out twice: it gets the answer that it got, with `Idempotency-Replayed: true`.",
    "schema": {"type": "string", "minLength": 1, "maxLength": idempotent.MAX_KEY},
    "example": '"8e03978e-40d5-43dd-bc93-6894a57f9324"',
}


def document(app: FastAPI) -> dict[str, Any]:
    """The document of an application; `Problem` is named in every error, so it must be in it."""
    if app.openapi_schema is None:
        made = get_openapi(
            title=app.title,
            version=app.version,
            description=app.description,
            routes=app.routes,
            tags=app.openapi_tags,
            servers=_servers(app.state.settings.root_path),
        )
        schemas = made.setdefault("components", {}).setdefault("schemas", {})
        described = errors.Problem.model_json_schema(ref_template=_REF)
        schemas.update(described.pop("$defs"))
        schemas["Problem"] = described
        _describe_keys(made)
        app.openapi_schema = made
    return app.openapi_schema


class ServedDocument:
    """The document as clients get it: written once, and kept with its gzip form."""

    def __init__(self, app: FastAPI) -> None:
        self._app = app
        self._plain = self._packed = b""

    async def answer(self, request: Request) -> Response:
        """The document, compressed where that tells nobody anything."""
        if not self._plain:
            self._plain = orjson.dumps(self._app.openapi())
            self._packed = gzip.compress(self._plain, mtime=0)
        headers = {"vary": "Accept-Encoding"}
        if not may_pack(request.scope):
            return Response(self._plain, headers=headers, media_type="application/json")
        headers["content-encoding"] = "gzip"
        return Response(self._packed, headers=headers, media_type="application/json")


def _servers(root_path: str) -> list[dict[str, str | Any]] | None:
    return [{"url": root_path}] if root_path else None


def _describe_keys(made: dict[str, Any]) -> None:
    """Say of everything that changes something that it takes an `Idempotency-Key`."""
    refusals = errors.problems(
        IdempotencyKeyReused, RequestInFlight, OutcomeUnknown, AnswerNotKept, public=True
    )
    for path, item in made["paths"].items():
        for method, operation in item.items():
            if method.upper() in SAFE_METHODS or not idempotent.takes_key(path):
                continue
            operation.setdefault("parameters", []).append(_KEY)
            for status in (409, 422):
                _add(operation["responses"], status, refusals[status])


def _add(responses: dict[str, Any], status: int, entry: dict[str, Any]) -> None:
    there = responses.setdefault(
        str(status), {"description": "", "content": {errors.MEDIA_TYPE: {}}}
    )
    reported = [part for part in (there["description"], entry["description"]) if part]
    content = there["content"][errors.MEDIA_TYPE]
    more = entry["content"][errors.MEDIA_TYPE]
    there["description"] = ", ".join(reported)
    there["content"] = {
        errors.MEDIA_TYPE: {
            "schema": more["schema"],
            "examples": {**content.get("examples", {}), **more["examples"]},
        }
    }
