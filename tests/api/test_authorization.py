"""Every route and every command, asked by everybody: who gets in, and who does not."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import httpx2
import pytest

from app.api.ws.commands import COMMAND_TYPES
from app.execution.calls import CallRequest
from app.execution.operation_logs import operation_logs_of
from app.governance.identity.token_rules import SCOPES
from tests.api.people import WORK, browser, holding
from tests.execution.lab import Watcher
from tests.support.http import HttpClient
from tests.support.openapi import openapi_document
from tests.support.service import Running, serving, settings_for

OWNER = "operator-secret-0123456789"
PREFIX = "/api/v1"
# Scopes that let nobody work with tools.
APART = {"audit:read", "desktop"}
METHODS = ("get", "post", "put", "patch", "delete")

# The one declaration: who may use a route. `public` is everybody, `signed in` any token or
# login, `member` whoever holds more than those of `APART`, `answerer` whoever may answer requests;
# the rest are scopes. The first line that fits a route speaks. A route without a line fails the
# test: add one.
RULES: tuple[tuple[str, str], ...] = (
    (r"GET /(health|ready)", "public"),
    (r"POST /login", "public"),
    # Other systems have no token: who may deliver is shown by a signature of the body.
    (r"POST /hooks/\{name\}", "signature"),
    (r"POST /logout|GET /me", "signed in"),
    (r"\w+ /me/notification-.*", "answerer"),
    (r"GET /me/push-key", "signed in"),
    (r"\w+ /me/chat-links.*", "approve"),
    # Others than those of the same token are not found.
    (r"GET /logins|DELETE /logins/\{login_id\}", "signed in"),
    (r"GET /metrics", "audit:read"),
    (r"\w+ /admin/audit(/.*)?", "audit:read"),
    (r"\w+ /admin/.*", "admin"),
    (r"GET /projects|POST /ws-tickets", "member"),
    (r"\w+ /sessions(/.*)?", "chat"),
    (r"POST /tools/(calls|\{name\}/call)", "tools:call"),
    (r"PATCH /tools/\{name\}", "admin"),
    (r"GET /tools(/\{name\})?|GET /toolset", "member"),
    (r"\w+ /confirmations(/\{confirmation_id\}(/context)?)?", "approve"),
    (r"\w+ /me/substitutes(/\{substitution_id\})?", "approve"),
    (r"\w+ /delegations/\{delegation_id\}(/cancel)?", "chat"),
    (r"GET /artifacts/\{artifact_id\}", "member"),
    (r"\w+ /desktop/.*", "desktop"),
)
# Paths that name something of a user, besides the sessions themselves.
OWNED = re.compile(r"\{(session_id|run_id|artifact_id|confirmation_id)\}")
# Bodies instead of the documented examples; `{session_id}` makes a route one of the user's.
BODIES: dict[str, dict[str, Any]] = {
    "POST /login": {"token": OWNER},
    "POST /tools/{name}/call": {"arguments": {}, "session_id": "{session_id}"},
    "POST /tools/calls": {"calls": [{"name": "nothing"}], "session_id": "{session_id}"},
    "POST /sessions": {"title": "New"},
    "POST /sessions/{session_id}/branch": {"entry_id": None},
}
# These end the login of the browser that asks: they are asked last.
LAST = ("POST /logout", "POST /login")
Outcome = Literal["in", "401", "403", "404"]


@dataclass(frozen=True)
class Route:
    """One operation of the OpenAPI document."""

    name: str
    method: str
    path: str
    body: dict[str, Any] | None

    @property
    def needs(self) -> str | None:
        """What the declaration asks for; None when it has no line."""
        for pattern, needed in RULES:
            if re.fullmatch(pattern, self.name):
                return needed
        return None

    @property
    def is_owned(self) -> bool:
        if self.path.startswith("/admin/"):
            return False
        return bool(OWNED.search(self.path)) or "{session_id}" in str(self.body)

    @property
    def changes(self) -> bool:
        return self.method != "GET"


@dataclass
class Role:
    """Somebody who asks, and what they should get.

    Attributes:
        scopes: what was granted; None when it is worth nothing.
        sees: whether what is asked for belongs to them.
        refuses: for which routes the way they ask is refused, whatever the scopes.
    """

    client: httpx2.AsyncClient
    scopes: tuple[str, ...] | None = None
    sees: bool = True
    limited: bool = False
    headers: dict[str, str] = field(default_factory=dict)
    refuses: Callable[[Route], bool] = lambda _: False

    def expected(self, route: Route) -> Outcome:
        needed = route.needs
        if needed == "signature":
            # Tokens and cookies mean nothing there; foreign pages are refused before.
            return "403" if "evil" in self.headers.get("origin", "") else "401"
        if self.refuses(route):
            return "403"
        if needed == "public":
            return "in"
        if self.scopes is None:
            return "401"
        if not may(self.scopes, str(needed)):
            return "403"
        if self.limited and route.name == "POST /sessions":
            return "403"
        return "404" if route.is_owned and not self.sees else "in"


def may(scopes: tuple[str, ...], needed: str) -> bool:
    """Whether the scopes are enough."""
    if "admin" in scopes or needed == "signed in":
        return True
    if needed == "answerer":
        return bool({"approve", "chat"} & set(scopes))
    return not set(scopes) <= APART if needed == "member" else needed in scopes


@dataclass
class World:
    """A service with things that belong to ann."""

    running: Running
    ids: dict[str, str]
    routes: list[Route]

    async def token(self, name: str, scopes: tuple[str, ...], **limited: Any) -> str:
        return (await self.running.service.tokens.create(name, scopes, **limited))[0]

    async def ended(self, column: str) -> str:
        """A token that was good once."""
        secret, token = await self.running.service.tokens.create("ann", SCOPES)
        db = self.running.service.db
        await db.transact(
            lambda transaction: transaction.execute(
                f"UPDATE tokens SET {column} = '2020-01-01T00:00:00.000Z' WHERE id = ?",
                (token.id,),
            )
        )
        await self.running.service.tokens.refresh()
        return secret


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    settings = settings_for(tmp_path, anthropic_api_key=None, token=OWNER, login_attempts=1000)
    async with serving(settings) as running:
        yield World(running, await belongings(running), list(routes(openapi_document())))


async def belongings(running: Running) -> dict[str, str]:
    """A session of ann with a run, an artifact, a call's reports and an open question."""
    service = running.service
    session = running.session(user_id="ann")
    watcher = Watcher()
    session.log.subscribers.add(watcher)
    long = CallRequest("long", "bash", {"command": "seq 1 20000"})
    written = CallRequest("written", "write_file", {"path": "a.txt", "content": "x"})
    run = await service.runs.call_tools(session, [long, written], caller="websocket")
    await run.done
    ended = await watcher.until("tool_call_completed", tool_call_id="long")
    logs = operation_logs_of(service.settings)
    await logs.append(ended["operation_id"], b"{}\n", begins=True)
    risky = CallRequest("risky", "bash", {"command": "rm -rf build"})
    ask = CallRequest("ask", "ask_user", {"question": "Which?"})
    await service.runs.call_tools(session, [risky, ask], caller="websocket")
    asked = await watcher.until("tool_confirmation_request")
    question = await watcher.until("question_asked")
    await service.db.flush()
    return {
        "session_id": session.id,
        "run_id": run.id,
        "artifact_id": ended["artifact_id"],
        "operation_id": ended["operation_id"],
        "confirmation_id": asked["confirmation_id"],
        "question_id": question["question_id"],
        "name": "calculator",
    }


def routes(document: dict[str, Any]) -> list[Route]:
    """Every operation with a body that fits, those that end a login last."""
    found = []
    for full, item in document["paths"].items():
        for method in METHODS:
            if method in item:
                path = full.removeprefix(PREFIX)
                name = f"{method.upper()} {path}"
                body = BODIES.get(name) or example_of(document, item[method])
                found.append(Route(name, method.upper(), path, body))
    return sorted(found, key=lambda route: LAST.index(route.name) if route.name in LAST else -1)


def example_of(document: dict[str, Any], operation: dict[str, Any]) -> dict[str, Any] | None:
    media = operation.get("requestBody", {}).get("content", {}).get("application/json")
    if media is None:
        return None
    schema = media["schema"]
    while "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
    examples = schema.get("examples") or [media.get("example", {})]
    return dict(examples[0])


async def outcome(world: World, role: Role, route: Route) -> str:
    """What a role gets from a route; streams are left as soon as they begin."""
    path = re.sub(r"\{(\w+)\}", lambda part: world.ids.get(part[1], "missing"), route.path)
    body = route.body and {
        key: world.ids["session_id"] if value == "{session_id}" else value
        for key, value in route.body.items()
    }
    request = role.client.build_request(route.method, path, json=body, headers=role.headers)
    answer = await role.client.send(request, stream=True)
    await answer.aclose()
    status = str(answer.status_code)
    if status in ("401", "403"):
        return status
    if status == "404" and route.is_owned:
        return status
    return "in" if answer.status_code < 500 else status


@asynccontextmanager
async def people(world: World) -> AsyncIterator[dict[str, Role]]:
    """Everybody who asks."""
    running = world.running
    async with AsyncExitStack() as stack:

        async def shows(secret: str) -> httpx2.AsyncClient:
            return await stack.enter_async_context(holding(running, secret))

        async def cookie(**role: Any) -> Role:
            secret = await world.token("ann", WORK)
            signed_in = await stack.enter_async_context(browser(running, secret))
            headers = {**signed_in.page, **role.pop("headers", {})}
            shown = {name: value for name, value in headers.items() if value}
            return Role(signed_in.client, WORK, headers=shown, **role)

        nobody = await stack.enter_async_context(HttpClient(base_url=running.api))
        everybody = {
            "without a token": Role(nobody),
            "a wrong token": Role(await shows("tg_wrong")),
            "an expired token": Role(await shows(await world.ended("expires_at"))),
            "a revoked token": Role(await shows(await world.ended("revoked_at"))),
            "the token of the settings": Role(await shows(OWNER), SCOPES),
            "somebody else": Role(await shows(await world.token("bob", WORK)), WORK, sees=False),
            "limited to another project": Role(
                await shows(await world.token("ann", WORK, projects=["other"])),
                WORK,
                sees=False,
                limited=True,
            ),
            "limited to another agent": Role(
                await shows(await world.token("ann", WORK, agents=["other"])),
                WORK,
                sees=False,
                limited=True,
            ),
            "a cookie with both proofs": await cookie(),
            "a cookie without a CSRF token": await cookie(
                headers={"x-csrf-token": ""}, refuses=changes_as_a_user
            ),
            "a cookie with a wrong CSRF token": await cookie(
                headers={"x-csrf-token": "0" * 64}, refuses=changes_as_a_user
            ),
            "a cookie without an origin": await cookie(
                headers={"origin": ""}, refuses=changes_as_a_user
            ),
            "a cookie from a foreign page": await cookie(
                headers={"origin": "https://evil.example"},
                refuses=lambda route: route.changes or route.needs != "public",
            ),
        }
        for scope in SCOPES:
            secret = await world.token("ann", (scope,))
            everybody[f"only {scope}"] = Role(await shows(secret), (scope,))
        yield everybody


def changes_as_a_user(route: Route) -> bool:
    return route.changes and route.needs != "public"


async def test_every_route_is_declared(world: World):
    assert [route.name for route in world.routes if route.needs is None] == []


async def test_every_declaration_is_about_a_route(world: World):
    unused = [
        pattern
        for pattern, _ in RULES
        if not any(re.fullmatch(pattern, route.name) for route in world.routes)
    ]
    assert unused == []
    assert BODIES.keys() <= {route.name for route in world.routes}


async def test_every_route_lets_in_whom_it_should_and_nobody_else(world: World):
    async with people(world) as everybody:
        wrong = {}
        for name, role in everybody.items():
            for route in world.routes:
                got, expected = await outcome(world, role, route), role.expected(route)
                if got != expected:
                    wrong[f"{route.name} by {name}"] = f"{got} instead of {expected}"
    assert wrong == {}
    assert len(everybody) * len(world.routes) > 400


# -- the WebSocket ----------------------------------------------------------------------

COMMANDS: dict[str, str | None] = {
    "hello": None,
    "ping": None,
    "subscribe": "chat",
    "unsubscribe": None,
    "user_message": "chat",
    "tool_call": "tools:call",
    "tool_confirmation_response": "approve",
    "question_response": "chat",
    "cancel": "chat",
    "subscribe_conditions": "admin",
    "subscribe_inbox": "chat",  # or `approve`; tests/api/ws/test_inbox.py sees what each shows
    "unsubscribe_inbox": None,
}
FIELDS: dict[str, dict[str, Any]] = {
    "subscribe": {},
    "user_message": {"content": "hello", "when_busy": "queue"},
    "tool_call": {"name": "calculator", "arguments": {"expression": "1"}},
    "tool_confirmation_response": {
        "confirmation_id": "{confirmation_id}",
        "option_id": "decline",
        "digest": "wrong",
    },
    "question_response": {
        "question_id": "{question_id}",
        "outcome": "answered",
        "answer": ["not offered"],
    },
    "cancel": {"target": "run", "target_id": "nothing"},
}
# They belong to no session.
OF_THE_SERVICE: dict[str, dict[str, Any]] = {"subscribe_conditions": {}}


def test_every_command_is_declared():
    assert set(COMMANDS) == COMMAND_TYPES


async def answers(world: World, secret: str) -> dict[str, str]:
    """The code of what each command gets; `in` when it was not refused."""
    got = {}
    async with world.running.connect(hello={"auth": {"token": secret}}) as chat:
        for kind, fields in (FIELDS | OF_THE_SERVICE).items():
            sent = {key: world.ids.get(str(value)[1:-1], value) for key, value in fields.items()}
            if kind in FIELDS:
                sent["session_id"] = world.ids["session_id"]
            answer = await chat.command(type=kind, **sent)
            code = answer.get("error", {}).get("code", "in")
            got[kind] = code if code in ("forbidden", "not_found") else "in"
    return got


@pytest.mark.parametrize("scope", SCOPES)
async def test_every_command_needs_its_scope(world: World, scope: str):
    got = await answers(world, await world.token("ann", (scope,)))

    assert got == {
        kind: "in" if may((scope,), str(COMMANDS[kind])) else "forbidden"
        for kind in FIELDS | OF_THE_SERVICE
    }


@pytest.mark.parametrize(
    ("name", "limited"),
    [("bob", {}), ("ann", {"projects": ["other"]}), ("ann", {"agents": ["other"]})],
)
async def test_no_command_reaches_what_is_not_for_the_token(
    world: World, name: str, limited: dict[str, Any]
):
    got = await answers(world, await world.token(name, WORK, **limited))

    assert got == dict.fromkeys(FIELDS, "not_found") | dict.fromkeys(OF_THE_SERVICE, "forbidden")


async def test_a_message_cannot_name_an_agent_that_is_not_for_the_token(world: World):
    secret = await world.token("ann", WORK, agents=["default"])
    async with world.running.connect(hello={"auth": {"token": secret}}) as chat:
        answer = await chat.command(
            type="user_message",
            session_id=world.ids["session_id"],
            content="hello",
            agent_id="other",
            when_busy="queue",
        )

    assert answer["error"]["code"] == "forbidden"
