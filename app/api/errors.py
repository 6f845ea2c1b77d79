"""Rendering of all errors as RFC 9457 problem details, in responses and in OpenAPI."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from math import ceil
from typing import Any

import orjson
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from app.api.deps import source_of
from app.core.errors import (
    BadFrame,
    Forbidden,
    InvalidInput,
    NotFound,
    Overloaded,
    RateLimited,
    RequestTimeout,
    StorageUnavailable,
    TollgateError,
    TooLarge,
    Unauthenticated,
    UpgradeRequired,
)
from app.core.field_problems import Details, field_problem
from app.core.field_problems import problem as about_field
from app.core.ids import new_id
from app.core.machine_limits import overload_of
from app.core.text import json_default, scrub, truncate

log = logging.getLogger(__name__)

MEDIA_TYPE = "application/problem+json"
TYPE_PREFIX = "urn:tollgate:error:"
TAG = "~"  # prefix of the names of union branches, which are not part of a path
MAX_ERRORS = 100
WRONG_METHOD = 405
_HTTP_CODES = {
    400: BadFrame.code,
    401: Unauthenticated.code,
    403: Forbidden.code,
    404: NotFound.code,
    405: "method_not_allowed",
    413: TooLarge.code,
    415: "unsupported_media_type",
    503: Overloaded.code,
}


class Problem(BaseModel):
    """Problem details of an error. `code` is stable; `detail` is for people and can change."""

    model_config = ConfigDict(extra="forbid")

    type: str = Field(description="`urn:tollgate:error:` followed by the code.")
    title: str
    status: int = Field(description="The HTTP status code.")
    detail: str = Field(description="What happened, and what to do about it.")
    code: str = Field(description="Stable code for clients to match on.")
    retryable: bool = Field(description="Whether the same request may succeed later.")
    details: Details | None = Field(
        default=None, description="Additional details; `errors` lists every invalid field."
    )
    error_id: str | None = Field(default=None, description="ID of the entry in the server's log.")


def install(app: FastAPI) -> None:
    """Install the exception handlers."""
    app.add_exception_handler(TollgateError, _tollgate_error)
    app.add_exception_handler(RequestValidationError, _validation_error)
    app.add_exception_handler(HTTPException, _http_exception)
    app.add_exception_handler(Exception, _unexpected)


def problem(error: TollgateError) -> Problem:
    """Return the problem details of an error."""
    details = dict(error.details)
    retryable = bool(details.pop("retryable", error.retryable))
    error_id = details.pop("error_id", None)
    if isinstance(error, InvalidInput) and "field" in details:
        named = about_field(details["field"], error.message, "invalid_value")
        details.setdefault("errors", [named])
    shown = scrub(details) or None
    return _problem(
        error.http_status,
        error.code,
        error.message,
        retryable=retryable,
        details=shown,
        error_id=error_id,
    )


def problem_response(error: TollgateError) -> Response:
    """Return the HTTP response for an error."""
    headers: dict[str, str] = {}
    wait = error.details.get("retry_after_ms")
    if isinstance(wait, int | float):
        headers["retry-after"] = str(max(1, ceil(wait / 1000)))
    if error.http_status == Unauthenticated.http_status:
        headers["www-authenticate"] = "Bearer"
    if error.http_status == UpgradeRequired.http_status:
        headers |= {"upgrade": "websocket", "connection": "upgrade"}
    return _response(problem(error), headers)


async def answer_to(request: Request, error: TollgateError | HTTPException) -> Response:
    """Return the HTTP response for an error that was raised outside of the routes."""
    if isinstance(error, TollgateError):
        return await _tollgate_error(request, error)
    return await _http_exception(request, error)


def error_path(location: tuple[Any, ...]) -> str:
    """Return a location as text: `("body", "calls", 0, "name")` as `body.calls[0].name`."""
    path = ""
    for part in location:
        if isinstance(part, int):
            path += f"[{part}]"
        elif not part.startswith(TAG):
            path += f".{part}" if path else part
    return path


def _problem(
    status: int,
    code: str,
    detail: str,
    *,
    retryable: bool = False,
    details: dict[str, Any] | None = None,
    error_id: str | None = None,
) -> Problem:
    return Problem(
        type=TYPE_PREFIX + code,
        title=code.replace("_", " ").capitalize(),
        status=status,
        detail=detail,
        code=code,
        retryable=retryable,
        details=details,
        error_id=error_id,
    )


def _response(shown: Problem, headers: Mapping[str, str] | None = None) -> Response:
    body = orjson.dumps(scrub(shown.model_dump(exclude_none=True)), json_default)
    return Response(body, shown.status, headers=headers, media_type=MEDIA_TYPE)


async def _tollgate_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, TollgateError)
    principal = getattr(request.state, "principal", None)
    if isinstance(error, Forbidden) and principal is not None:
        what = f"{request.method} {request.url.path}"
        authenticator = request.app.state.service.authenticator
        authenticator.forbade(principal, error, source=source_of(request), what=what)
    return problem_response(error)


async def _validation_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    raw = error.errors()
    for item in raw:
        if item["type"] == "json_invalid":
            reason = item.get("ctx", {}).get("error", item["msg"])
            return problem_response(BadFrame(f"The body is not valid UTF-8 JSON: {reason}"))
    errors = [field_problem(error_path(tuple(item["loc"])), item) for item in raw[:MAX_ERRORS]]
    message = "; ".join(f"{item['path']}: {item['message']}" for item in errors)
    return problem_response(InvalidInput(truncate(message, 2000), errors=errors))


async def _http_exception(request: Request, error: Exception) -> Response:
    """Render an error of the framework, such as an unknown route or an unreadable body."""
    assert isinstance(error, HTTPException)
    path = truncate(request.url.path, 200)
    message = {
        404: f"Nothing is served at {path}",
        405: f"{request.method} is not supported at {path}",
    }
    code = _HTTP_CODES.get(error.status_code, InvalidInput.code)
    detail = message.get(error.status_code, error.detail)
    headers = dict(error.headers or {})
    if error.status_code == WRONG_METHOD:
        headers = {"allow": ", ".join(_methods(request))}
    retryable = error.status_code == Overloaded.http_status
    return _response(_problem(error.status_code, code, detail, retryable=retryable), headers)


def _methods(request: Request) -> list[str]:
    """Return all methods of a path; the framework only names those of one route."""
    path = request.scope["path"]
    routes = (route for route in request.app.routes if isinstance(route, Route))
    found = [route.methods or () for route in routes if route.path_regex.match(path)]
    return sorted({method for methods in found for method in methods})


async def _unexpected(request: Request, error: Exception) -> Response:
    if (overload := overload_of(error)) is not None:
        log.warning("%s %s: %s", request.method, request.url.path, overload.message)
        return problem_response(overload)
    error_id = new_id("err")
    log.error(
        "%s %s failed unexpectedly (%s)",
        request.method,
        request.url.path,
        error_id,
        exc_info=error,
    )
    internal = TollgateError(f"Internal error {error_id}; see the service's log", error_id=error_id)
    return problem_response(internal)


# -- OpenAPI ----------------------------------------------------------------------------

_SAID = {
    "bad_frame": "The body is not valid UTF-8 JSON: unexpected character",
    "validation_failed": "body.title: Input should be a valid string; "
    "body.limit: Input should be less than or equal to 500",
    "too_large": "The body is larger than 8388608 bytes",
    "unauthenticated": "Authentication required: send `Authorization: Bearer …`",
    "forbidden": "Requires the scope 'admin'",
    "not_found": "Session 'ses_1' not found",
    "tool_not_found": "Tool not found: nope",
    "conflict": "The run was cancelled before this call started",
    "already_exists": "Agent 'writer' already exists",
    "proof_outdated": "The proof does not hold any more: 1 calls that people declined or policy "
    "denied would have been let through",
    "plugins_refused": "Nothing was changed: greet.py:3: NameError: name 'gret' is not defined",
    "version_mismatch": "Changed by someone else (expected version 3, found 4); reload and retry",
    "busy": "A run is active in this session; wait for it or cancel it",
    "already_finished": "The call has ended without running",
    "confirmation_already_resolved": "Already approved by local",
    "confirmation_expired": "The confirmation has expired; the call was not run",
    "already_approved": "You have already approved this call; 1 of 2 approvals are given",
    "digest_mismatch": "The digest does not match this call; reload the confirmation",
    "question_already_answered": "Already answered by local",
    "question_closed": "The question has expired",
    "rate_limited": "Too many open tickets; try again later",
    "idempotency_key_reused": "This Idempotency-Key was used for another request",
    "request_in_flight": "The first request with this Idempotency-Key is still running",
    "outcome_unknown": "The service stopped while the first request with this Idempotency-Key was "
    "running",
    "answer_not_kept": "The request was processed; its response held a secret and was not stored",
    "unrecoverable_position": "The log ends at 12; load the snapshot and continue from there",
    "tool_failed": "Not a file: 'uploads/report.pdf'",
    "outside_workspace": "Path is outside project directory: 'uploads/report.pdf'",
    "project_required": "project_id is required for uploads",
    "storage_unavailable": "Database is not writable (database or disk is full)",
    "overloaded": "900 of 1024 open files are used; try again later",
    "request_timeout": "The body of the request did not arrive in time",
    "internal": "Internal error err_0a1b2c; see the service's log",
    "unsupported_media_type": "Send the body as Content-Type: application/json",
}
_DETAILS: dict[str, dict[str, Any]] = {
    "proof_outdated": {
        "proposal_id": "rpr_1",
        "problems": ["1 calls that people declined or policy denied would have been let through"],
    },
    "validation_failed": {
        "errors": [
            {
                "path": "body.title",
                "message": "Input should be a valid string",
                "code": "string_type",
            },
            {
                "path": "body.limit",
                "message": "Input should be less than or equal to 500",
                "code": "less_than_equal",
                "values": {"le": 500},
            },
        ]
    },
    "forbidden": {"scope": "admin"},
    "version_mismatch": {"version": 4},
    "rate_limited": {"retry_after_ms": 1000},
    "overloaded": {"retry_after_ms": 2000},
    "request_in_flight": {"retry_after_ms": 1000},
}


def problems(
    *kinds: type[TollgateError], public: bool = False, body: bool = False
) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI entries for errors: the given ones, and those common to all routes.

    Args:
        public: the route needs no token and reads nothing that can be unavailable.
        body: the route has a request body.
    """
    listed: list[type[TollgateError]] = [*kinds, Forbidden, TollgateError]
    if not public:
        listed += [Unauthenticated, RateLimited, InvalidInput, StorageUnavailable, Overloaded]
    if body:
        listed += [BadFrame, TooLarge, RequestTimeout]
    different = dict.fromkeys(listed)
    shown = [_example(kind.http_status, kind.code, retryable=kind.retryable) for kind in different]
    if body:
        shown.append(_example(415, "unsupported_media_type"))
    by_status: dict[int | str, dict[str, Any]] = {}
    for example in sorted(shown, key=lambda item: item.status):
        entry = by_status.setdefault(example.status, _entry())
        entry["description"] = (
            f"{entry['description']}, `{example.code}`"
            if entry["description"]
            else f"`{example.code}`"
        )
        entry["content"][MEDIA_TYPE]["examples"][example.code] = {
            "value": example.model_dump(exclude_none=True)
        }
    return by_status


def _example(status: int, code: str, *, retryable: bool = False) -> Problem:
    return _problem(
        status,
        code,
        _SAID[code],
        retryable=retryable,
        details=_DETAILS.get(code),
        error_id="err_0a1b2c" if code == "internal" else None,
    )


def _entry() -> dict[str, Any]:
    schema = {"$ref": "#/components/schemas/Problem"}
    return {"description": "", "content": {MEDIA_TYPE: {"schema": schema, "examples": {}}}}
