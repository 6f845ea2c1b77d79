"""The OpenAPI document: what FastAPI makes of the routes, and what holds for all of them."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from app.api import errors
from app.api.deps import SAFE_METHODS
from app.api.rest import idempotent
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
