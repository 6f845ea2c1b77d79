"""OpenAPI document: FastAPI's document of the routes, with the parts common to all of them."""

from __future__ import annotations

import asyncio
import gzip
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import orjson
from fastapi import FastAPI
from fastapi.openapi.utils import get_fields_from_routes, get_openapi
from starlette.requests import Request
from starlette.responses import Response

from app.api import errors
from app.api.deprecated_paths import document_renamed
from app.api.deps import SAFE_METHODS
from app.api.rest import idempotent
from app.api.rest.compression import may_pack
from app.core.errors import AnswerNotKept, IdempotencyKeyReused, OutcomeUnknown, RequestInFlight

_REF = "#/components/schemas/{model}"
_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "Makes the request idempotent. A repeat with the same key within ten minutes, "
    "even after a restart, returns the first response with `Idempotency-Replayed: "
    "true` and runs nothing.",
    "schema": {"type": "string", "minLength": 1, "maxLength": idempotent.MAX_KEY},
    "example": '"8e03978e-40d5-43dd-bc93-6894a57f9324"',
}


def document(app: FastAPI) -> dict[str, Any]:
    """Return the document of an application, with the `Problem` schema that every error uses."""
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
        document_renamed(made)
        app.openapi_schema = made
    return app.openapi_schema


class ServedDocument:
    """Cached document, plain and compressed.

    Creating it takes most of a second, so it runs in a thread.
    """

    def __init__(self, app: FastAPI) -> None:
        self._app = app
        self._making: asyncio.Task[tuple[bytes, bytes]] | None = None

    async def answer(self, request: Request) -> Response:
        """Return the document, compressed if the request permits it."""
        if self._making is None:
            self._making = asyncio.create_task(self._make())
        plain, packed = await asyncio.shield(self._making)
        headers = {"vary": "Accept-Encoding"}
        if not may_pack(request.scope):
            return Response(plain, headers=headers, media_type="application/json")
        headers["content-encoding"] = "gzip"
        return Response(packed, headers=headers, media_type="application/json")

    async def _make(self) -> tuple[bytes, bytes]:
        """Create both forms; after a failure the next request tries again."""
        try:
            await self._build_fields()
            # A separate thread, because long work of runs may occupy all threads of the loop.
            maker = ThreadPoolExecutor(1, "openapi")
            try:
                return await asyncio.get_running_loop().run_in_executor(maker, self._written)
            finally:
                maker.shutdown(wait=False)
        except BaseException:
            self._making = None
            raise

    async def _build_fields(self) -> None:
        """Build the validator of each field, one at a time.

        Validators are built on first use, which must not happen in a request and in the thread at
        the same time.
        """
        for field in get_fields_from_routes(self._app.routes):
            field.validate(None)
            await asyncio.sleep(0)

    def _written(self) -> tuple[bytes, bytes]:
        plain = orjson.dumps(self._app.openapi())
        return plain, gzip.compress(plain, mtime=0)


def _servers(root_path: str) -> list[dict[str, str | Any]] | None:
    return [{"url": root_path}] if root_path else None


def _describe_keys(made: dict[str, Any]) -> None:
    """Document the `Idempotency-Key` of all operations that change something."""
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
    descriptions = [part for part in (there["description"], entry["description"]) if part]
    content = there["content"][errors.MEDIA_TYPE]
    more = entry["content"][errors.MEDIA_TYPE]
    there["description"] = ", ".join(descriptions)
    there["content"] = {
        errors.MEDIA_TYPE: {
            "schema": more["schema"],
            "examples": {**content.get("examples", {}), **more["examples"]},
        }
    }
