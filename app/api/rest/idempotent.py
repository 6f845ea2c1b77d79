"""Support for the header `Idempotency-Key`: a repeated request runs only once."""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import orjson
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.api import errors
from app.api.deps import SAFE_METHODS, principal_of
from app.api.idempotency import IdempotencyKeys, Key, StoredResponse, owner_of
from app.api.rest.one_time import is_shown_once
from app.api.rest.routing import PREFIX
from app.api.service import Service
from app.core.errors import (
    AnswerNotKept,
    BadFrame,
    Busy,
    Forbidden,
    IdempotencyKeyReused,
    InvalidArguments,
    InvalidInput,
    NotFound,
    OutcomeUnknown,
    Overloaded,
    RateLimited,
    RequestInFlight,
    RequestTimeout,
    StorageUnavailable,
    TollgateError,
    TooLarge,
    ToolNotFound,
    Unauthenticated,
)

HEADER = "idempotency-key"
REPLAYED = "idempotency-replayed"
MAX_KEY = 255
RETRY_MS = 1000
_QUOTED = re.compile(r'"((?:[\x20-\x21\x23-\x5b\x5d-\x7e]|\\["\\])+)"\Z')
_PLAIN = re.compile(r"[\x21\x23-\x7e]+\Z")
# Requests without a token: deliveries have their own IDs, and a login returns a secret.
_LEFT_ALONE = re.compile(rf"{PREFIX}/(login\Z|hooks/)")
_NOT_STORED = frozenset({"content-length", "set-cookie", "date"})
# Codes of errors that mean that the request had no effect.
_REFUSALS = frozenset(
    kind.code
    for kind in (
        BadFrame,
        Busy,
        Forbidden,
        IdempotencyKeyReused,
        InvalidArguments,
        InvalidInput,
        NotFound,
        Overloaded,
        RateLimited,
        RequestTimeout,
        ToolNotFound,
        TooLarge,
        Unauthenticated,
    )
) | {"method_not_allowed", "unsupported_media_type"}
_ERROR = 400


class IdempotentRequests:
    """Middleware that runs a request with an `Idempotency-Key` once; repeats get its response.

    The request is stored before it runs, and its response before it is sent.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._running: set[Key] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not _is_asked(scope):
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        try:
            answer = await self._answer(request)
        except TollgateError as error:
            answer = await errors.answer_to(request, error)
        except HTTPException as error:
            answer = await errors.answer_to(request, error)
        await answer(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        # A thread imports the modules of the routes; they must not be imported here meanwhile.
        await request.app.state.later.loaded()
        name = key_name(request.headers.getlist(HEADER))
        principal = await principal_of(request, None, None)
        keys: IdempotencyKeys = request.app.state.keys
        await keys.load()
        key = Key("rest", owner_of(principal), name)
        if key in self._running:
            raise RequestInFlight(
                "The first request with this Idempotency-Key is still running; retry later",
                retry_after_ms=RETRY_MS,
            )
        kept = keys.get(key)
        if kept is not None:
            return await _replay(request, keys, key, kept)
        self._running.add(key)
        try:
            return await self._first(request, keys, key)
        finally:
            self._running.discard(key)

    async def _first(self, request: Request, keys: IdempotencyKeys, key: Key) -> Response:
        service: Service = request.app.state.service
        keys.begin(key)
        try:
            await service.db.flush()
        except BaseException:
            keys.forget(key)
            raise
        body, recorded = _RequestBody(request), _Recorded()
        try:
            await self._app(request.scope, body.receive, recorded.send)
            content = await body.digest()
            answer = recorded.answer()
            self._settle(request, keys, key, content, recorded)
        except BaseException:
            keys.lose(key)
            raise
        await service.db.flush_with_retry()
        return answer

    def _settle(
        self, request: Request, keys: IdempotencyKeys, key: Key, content: str, recorded: _Recorded
    ) -> None:
        """Store the response, unless the request had no effect or its outcome is unknown."""
        code = recorded.code()
        if code == StorageUnavailable.code:
            keys.lose(key)
        elif code in _REFUSALS:
            keys.forget(key)
        else:
            secret = is_shown_once(request) and recorded.status < _ERROR
            stored = b"" if secret else recorded.packed()
            keys.keep(key, content, recorded.status, stored, whole=False)


async def _replay(
    request: Request, keys: IdempotencyKeys, key: Key, kept: StoredResponse
) -> Response:
    """Return the response to the first request with the key.

    Raises:
        IdempotencyKeyReused: the first request was a different one.
        OutcomeUnknown: the first request ended without a response.
        AnswerNotKept: the response contained a secret, or is no longer stored.
    """
    if kept.is_unknown:
        raise OutcomeUnknown(
            "The service stopped while the first request with this Idempotency-Key "
            "was running, so it may have taken effect. Check the result, and use a "
            "new key to repeat it"
        )
    if await _RequestBody(request).digest() != kept.content:
        raise IdempotencyKeyReused(
            "This Idempotency-Key was used for another request within ten minutes; "
            "use a new key for each request",
            field="header.Idempotency-Key",
        )
    packed = await keys.answer_of(key)
    if not packed:
        raise AnswerNotKept(
            "The first request with this Idempotency-Key was processed; its response "
            "held a secret that is shown only once",
            status=kept.status,
        )
    return _unpacked(kept.status, packed)


def key_name(values: list[str]) -> str:
    """Return the key of a request, from a structured-field string with or without quotes.

    Raises:
        InvalidInput: the key is invalid or too long, or there are several.
    """
    value = values[0].strip() if len(values) == 1 else ""
    quoted = _QUOTED.match(value)
    name = re.sub(r'\\(["\\])', r"\1", quoted[1]) if quoted else value
    if not (quoted or _PLAIN.match(value)) or len(name) > MAX_KEY:
        raise InvalidInput(
            f"Send one Idempotency-Key of 1 to {MAX_KEY} visible ASCII characters, such as a UUID",
            field="header.Idempotency-Key",
        )
    return name


def takes_key(path: str) -> bool:
    """Return whether changes at this route support an `Idempotency-Key`."""
    return path.startswith(f"{PREFIX}/") and _LEFT_ALONE.match(path) is None


def _is_asked(scope: Scope) -> bool:
    if scope["method"] in SAFE_METHODS or not takes_key(scope["path"]):
        return False
    return HEADER in Headers(scope=scope)


class _RequestBody:
    """Body of a request, and digest of the entire request."""

    def __init__(self, request: Request) -> None:
        self._receive = request.receive
        scope = request.scope
        head = f"{scope['method']} {scope['path']}?".encode() + scope["query_string"] + b"\n"
        self._digest = sha256(head)
        self._is_over = False

    async def receive(self) -> Message:
        message = await self._receive()
        self._digest.update(message.get("body", b""))
        if message["type"] != "http.request" or not message.get("more_body", False):
            self._is_over = True
        return message

    async def digest(self) -> str:
        """Read the rest of the body and return the digest."""
        while not self._is_over:
            await self.receive()
        return self._digest.hexdigest()


class _Recorded:
    """Recorder of a response."""

    def __init__(self) -> None:
        self.status = 500
        self._headers: list[tuple[bytes, bytes]] = []
        self._body = bytearray()

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self._headers = list(message.get("headers", ()))
        elif message["type"] == "http.response.body":
            self._body += message.get("body", b"")

    def answer(self) -> Response:
        """Return the recorded response."""
        answer = Response(bytes(self._body), self.status)
        answer.raw_headers = self._headers
        return answer

    def code(self) -> str | None:
        """Return the error code, or None without an error."""
        if self.status < _ERROR:
            return None
        problem: Mapping[str, Any] = orjson.loads(self._body)
        return str(problem.get("code"))

    def packed(self) -> bytes:
        """Return the response in its stored form."""
        headers = [
            (name.decode("latin-1"), value.decode("latin-1"))
            for name, value in self._headers
            if name.decode("latin-1").lower() not in _NOT_STORED
        ]
        return zlib.compress(orjson.dumps(headers) + b"\n" + self._body)


def _unpacked(status: int, packed: bytes) -> Response:
    head, _, body = zlib.decompress(packed).partition(b"\n")
    headers = dict(orjson.loads(head))
    return Response(body, status, headers=headers | {REPLAYED: "true"})
