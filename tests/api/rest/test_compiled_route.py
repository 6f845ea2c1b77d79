"""A compiled route answers as FastAPI does, and leaves to FastAPI what may have a fault."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from fastapi import Header
from fastapi.routing import APIRoute
from pydantic import BaseModel

from app.api.deps import Anyone, Caller, ServiceDep
from app.api.rest.body import Body
from app.api.rest.compiled_route import CompiledRoute
from app.api.rest.routing import routes_of
from tests.support.service import Running

JSON = ("content-type", "application/json")
CALL = "/api/v1/tools/calculator/call"
BATCH = "/api/v1/tools/calls"
SIX = b'{"arguments":{"expression":"6*1"}}'
TWO = b'{"calls":[{"name":"calculator","arguments":{"expression":"1+1"}}]}'
_MADE = re.compile(rb'"(execution_time|[a-z_]*id)":("[^"]*"|[\d.e-]+)')

Headers = tuple[tuple[str, str], ...]
Answer = tuple[int, list[tuple[bytes, bytes]], bytes]


async def ask(
    running: Running,
    path: str,
    *pieces: bytes,
    method: str = "POST",
    query: str = "",
    headers: Headers = (JSON,),
    leaves: bool = False,
) -> Answer | None:
    """Send a request to the application; None if it does not answer.

    Args:
        leaves: the client disconnects before the end of the body.
    """
    host = running.url.removeprefix("http://")
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(b"host", host.encode()), *((a.encode(), b.encode()) for a, b in headers)],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 1),
        "state": {},
    }
    inbox = [{"type": "http.request", "body": piece, "more_body": True} for piece in pieces]
    if leaves:
        inbox.append({"type": "http.disconnect"})
    else:
        inbox.append({"type": "http.request", "body": b"", "more_body": False})
    sent: list[Any] = []

    async def receive() -> Any:
        return inbox.pop(0) if inbox else {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    await running.app(scope, receive, send)
    if not sent:
        return None
    body = b"".join(message.get("body", b"") for message in sent[1:])
    shown = [pair for pair in sent[0]["headers"] if pair[0] != b"content-length"]
    return sent[0]["status"], sorted(shown), _MADE.sub(rb'"\1":0', body)


@contextmanager
def only_fastapi() -> Iterator[None]:
    """Leave every request to FastAPI."""

    async def nothing(*_: Any) -> None:
        return None

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CompiledRoute, "_answer", nothing)
        yield


@pytest.fixture
def left(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Paths of the requests that FastAPI has handled."""
    paths: list[str] = []
    handle = APIRoute.handle

    async def watched(self: APIRoute, scope: Any, receive: Any, send: Any) -> None:
        paths.append(scope["path"])
        await handle(self, scope, receive, send)

    monkeypatch.setattr(APIRoute, "handle", watched)
    return paths


NO_SESSION = "call in a session that does not exist"
REGULAR: dict[str, dict[str, Any]] = {
    "call": {"body": SIX},
    "call in pieces": {"body": SIX[:9], "rest": SIX[9:]},
    "call with a charset": {"headers": (("content-type", "application/json; charset=utf-8"),)},
    "call with a choice": {"query": "result=text"},
    "call with the last of two choices": {"query": "result=all&result=record"},
    "call with every field": {"body": b'{"arguments":"{}","id":"c_1","cacheable":false}'},
    "call of an unknown tool": {"path": "/api/v1/tools/nothing/call"},
    "call of a name to decode": {"path": "/api/v1/tools/a b/call"},
    "call without arguments": {"body": b"{}"},
    NO_SESSION: {"body": b'{"session_id":"ses_none"}'},
    "batch": {"path": BATCH, "body": TWO},
    "batch with a choice": {"path": BATCH, "body": TWO, "query": "result=messages"},
}
IRREGULAR: dict[str, dict[str, Any]] = {
    "no body": {"body": b""},
    "no JSON": {"body": b"{"},
    "no UTF-8": {"body": b'{"arguments":"\xff"}'},
    "no object": {"body": b"[]"},
    "null": {"body": b"null"},
    "a number that JSON does not have": {"body": b'{"arguments":NaN}'},
    "too many levels": {"body": b'{"arguments":' + b"[" * 200 + b"]" * 200 + b"}"},
    "an unknown field": {"body": b'{"argument":{}}'},
    "a field of another type": {"body": b'{"cacheable":"yes"}'},
    "an invalid ID": {"body": b'{"id":"a b"}'},
    "another type of content": {"headers": (("content-type", "text/plain"),)},
    "no type of content": {"headers": ()},
    "another method": {"method": "PUT"},
    "an unknown parameter": {"query": "results=text"},
    "an unknown choice": {"query": "result=everything"},
    "an empty choice": {"query": "result="},
    "a name that is too long": {"path": f"/api/v1/tools/{'x' * 200}/call"},
    "a batch of nothing": {"path": BATCH, "body": b'{"calls":[]}'},
    "a client that has left": {"leaves": True},
    "a client that has left at once": {"body": b"", "leaves": True},
}
# Valid requests that a compiled route does not read itself.
RARE: dict[str, dict[str, Any]] = {
    "JSON of another type": {"headers": (("content-type", "application/vnd.x+json"),)},
    "two types of content": {"headers": (JSON, ("content-type", "text/plain"))},
}
NOT_A_TOKEN = (JSON, ("authorization", "Bearer tg_nothing"))
UNSIGNED: dict[str, dict[str, Any]] = {
    "no token": {"headers": NOT_A_TOKEN},
    "no token and no JSON": {"headers": NOT_A_TOKEN, "body": b"{"},
    "no token and an unknown parameter": {"headers": NOT_A_TOKEN, "query": "a=b"},
    "no token and an invalid field": {"headers": NOT_A_TOKEN, "body": b'{"a":1}'},
    "no token and another method": {"headers": NOT_A_TOKEN, "method": "DELETE"},
}


async def send(running: Running, request: dict[str, Any]) -> Answer | None:
    wanted = {"path": CALL, "body": SIX} | request
    pieces = (wanted.pop("body"), wanted.pop("rest", b""))
    return await ask(running, wanted.pop("path"), *pieces, **wanted)


@pytest.mark.parametrize("name", [*REGULAR, *RARE, *IRREGULAR, *UNSIGNED])
async def test_the_answer_is_that_of_fastapi(serving: Running, name: str):
    request = (REGULAR | RARE | IRREGULAR | UNSIGNED)[name]
    answer = await send(serving, request)
    with only_fastapi():
        expected = await send(serving, request)
    assert answer == expected
    is_answered = name in REGULAR | RARE and name != NO_SESSION
    assert (answer is not None and answer[0] == 200) == is_answered


@pytest.mark.parametrize("name", REGULAR)
async def test_a_request_without_a_fault_is_not_left_to_fastapi(
    serving: Running, left: list[str], name: str
):
    await send(serving, REGULAR[name])
    assert not left


@pytest.mark.parametrize("name", IRREGULAR)
async def test_what_may_have_a_fault_is_left_to_fastapi_before_anything_runs(
    serving: Running, left: list[str], name: str
):
    sessions = len(await serving.service.archive.sessions(None, kind=None, limit=10, before=None))
    await send(serving, IRREGULAR[name])
    await serving.service.db.flush()
    assert len(left) == 1
    found = await serving.service.archive.sessions(None, kind=None, limit=10, before=None)
    assert len(found) == sessions


async def test_a_token_without_the_scope_is_refused_and_the_audit_says_so(serving: Running):
    secret, _ = await serving.service.tokens.create("ann", ("approve",))
    headers = (JSON, ("authorization", f"Bearer {secret}"))
    answers = [await send(serving, {"headers": headers})]
    with only_fastapi():
        answers.append(await send(serving, {"headers": headers}))
    assert answers[0] == answers[1]
    assert answers[0] is not None
    assert answers[0][0] == 403


class Form(Body):
    """A body."""


class View(BaseModel):
    """An answer."""


async def with_a_header(body: Form, caller: Caller, x_name: str = Header()) -> View:
    return View()


async def without_a_body(caller: Caller) -> View:
    return View()


async def with_another_dependency(body: Form, service: ServiceDep, who: Anyone) -> View:
    return View()


async def with_a_required_parameter(body: Form, caller: Caller, after: int) -> View:
    return View()


async def without_a_model(body: Form, caller: Caller) -> None:
    return None


@pytest.mark.parametrize(
    "function",
    [
        with_a_header,
        without_a_body,
        with_another_dependency,
        with_a_required_parameter,
        without_a_model,
    ],
)
def test_a_function_that_takes_something_else_has_no_compiled_route(function: Any):
    router = routes_of("calls", route_class=CompiledRoute)
    with pytest.raises(TypeError):
        router.post("/x")(function)
