"""Routes whose arguments are read without resolving dependencies for each request.

FastAPI resolves the dependencies of a route, and those of each dependency, for each request again:
for a call of a small tool this takes longer than the call. A `CompiledRoute` knows from the start
what its function takes, and reads only that. It only handles requests without any fault: all others
go through FastAPI, which describes the fault, before the function has been called.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from json import JSONDecodeError
from typing import Any

from fastapi.dependencies.models import Dependant
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from app.api.deps import RequiredScope, principal_of, service_of
from app.api.json_body import read_json
from app.api.principal import Principal
from app.api.rest.body import JsonRoute

_JSON = frozenset({b"application/json", b"application/json; charset=utf-8"})

Resolve = Callable[[Request], Awaitable[Any]]


class CompiledRoute(JsonRoute):
    """Route of a function that takes the service, a principal with a scope, path and query
    parameters, and a JSON body; it returns a model.

    Raises:
        TypeError: the function takes something else.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        super().__init__(path, endpoint, **options)
        if self.response_field is None:
            raise TypeError(f"{self.name} returns no model")
        self._arguments = _Arguments(self.dependant)
        self._encode = self.response_field.serialize_json

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = _Body(receive)
        response = await self._answer(scope, body)
        if response is None:
            await super().handle(scope, body.again, send)
        else:
            await response(scope, receive, send)

    async def _answer(self, scope: Scope, body: _Body) -> Response | None:
        """Return the response; None if the request may have a fault."""
        if scope["method"] not in (self.methods or ()) or not _is_json(scope):
            return None
        content = await body.read()
        arguments = None if content is None else await self._arguments.of(scope, content)
        if arguments is None:
            return None
        result = await self.endpoint(**arguments)
        return Response(self._encode(result), media_type="application/json")


class _Arguments:
    """Arguments of a function."""

    def __init__(self, dependant: Dependant) -> None:
        if dependant.header_params or dependant.cookie_params or len(dependant.body_params) != 1:
            raise TypeError("A compiled route takes one body, and no headers or cookies")
        self._resolved = [
            (str(inner.name), _resolver(inner.call)) for inner in dependant.dependencies
        ]
        self._path = dependant.path_params
        self._query = {field.alias: field for field in dependant.query_params}
        if any(field.field_info.is_required() for field in dependant.query_params):
            raise TypeError("A compiled route has a default for each query parameter")
        self._defaults = {field.name: field.get_default() for field in dependant.query_params}
        self._body = dependant.body_params[0]

    async def of(self, scope: Scope, content: bytes) -> dict[str, Any] | None:
        """Return the arguments by name; None if one of them is missing, unknown or invalid.

        Raises:
            TollgateError: the principal is not known, or may not use the route.
        """
        query = QueryParams(scope["query_string"]) if scope["query_string"] else {}
        if any(name not in self._query for name in query):
            return None
        try:
            body = read_json(content)
        except JSONDecodeError:
            return None
        request = Request(scope)
        arguments = dict(self._defaults)
        for name, resolve in self._resolved:
            arguments[name] = await resolve(request)
        sent = [(field, scope["path_params"].get(field.alias)) for field in self._path]
        sent += [(self._query[name], query[name]) for name in query]
        for field, value in (*sent, (self._body, body)):
            arguments[field.name], faults = field.validate(value)
            if faults:
                return None
        return arguments


class _Body:
    """Body of a request, which can be read again."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._read: deque[Message] = deque()

    async def read(self) -> bytes | None:
        """Return the body; None if the client disconnects."""
        # Joined once: a client chooses how many pieces it sends.
        pieces: list[bytes] = []
        while True:
            message = await self._receive()
            self._read.append(message)
            if message["type"] != "http.request":
                return None
            pieces.append(message.get("body", b""))
            if not message.get("more_body", False):
                return b"".join(pieces)

    async def again(self) -> Message:
        """Return the messages from the first one on."""
        return self._read.popleft() if self._read else await self._receive()


def _is_json(scope: Scope) -> bool:
    kinds = [value for name, value in scope["headers"] if name == b"content-type"]
    return len(kinds) == 1 and kinds[0] in _JSON


def _resolver(call: Callable[..., Any] | None) -> Resolve:
    """Return the function that resolves a dependency.

    Raises:
        TypeError: it is none that can be resolved directly.
    """
    if call is service_of:
        return service_of
    if not isinstance(call, RequiredScope):
        raise TypeError("A compiled route depends on the service and on a scope only")

    async def principal(request: Request) -> Principal:
        return await call(await principal_of(request, None, None))

    return principal
