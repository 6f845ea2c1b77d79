"""Signing in with a browser: a cookie, pages of ours, and an end."""

from __future__ import annotations

from pathlib import Path

import httpx2
import pytest

from app.config.settings import Settings
from tests.api.people import Browser, browser, holding, user
from tests.api.rest.client import new_session, problem
from tests.support.http import HttpClient
from tests.support.service import Running, settings_for
from tests.support.service import serving as serve

OWNER = "operator-secret-0123456789"
EXPECTED_HEADERS = {
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return settings_for(
        tmp_path, anthropic_api_key=None, token=OWNER, login_attempts=3, heartbeat_s=0.05
    )


async def audited(serving: Running, kind: str) -> list[tuple[str, str]]:
    """Actor and details of what the audit holds of a kind."""
    db = serving.service.db
    await db.flush()
    rows = await db.transact(
        lambda transaction: transaction.fetch(
            "SELECT actor, detail FROM audit WHERE kind = ? ORDER BY seq", (kind,)
        )
    )
    return [(actor, detail) for actor, detail in rows]


def cookie_of(answer: httpx2.Response) -> set[str]:
    """The parts of the cookie that an answer sets, without its value."""
    name, *parts = (part.strip() for part in answer.headers["set-cookie"].split(";"))
    return {name.partition("=")[0], *(part.lower() for part in parts)}


async def test_signing_in_sets_a_cookie_that_no_script_and_no_other_site_gets(
    serving: Running, client: httpx2.AsyncClient
):
    answer = await client.post("/login", json={"token": OWNER})

    assert cookie_of(answer) == {
        "tollgate_login",
        "httponly",
        "max-age=604800",
        "path=/",
        "samesite=strict",
    }
    assert answer.headers["cache-control"] == "no-store"
    assert client.cookies["tollgate_login"] not in answer.text


@pytest.mark.parametrize("settings_change", [{"secure_cookie": True}, {}])
async def test_a_page_on_https_gets_a_cookie_for_https_only(
    tmp_path: Path, settings_change: dict[str, bool]
):
    own = settings_for(
        tmp_path, token=OWNER, allowed_origins="https://tollgate.example", **settings_change
    )
    headers = {} if settings_change else {"origin": "https://tollgate.example"}
    async with serve(own) as running, HttpClient(base_url=running.api) as client:
        answer = await client.post("/login", json={"token": OWNER}, headers=headers)
        value = answer.headers["set-cookie"].partition("=")[2].partition(";")[0]
        me = await client.get("/me", headers={"cookie": f"__Host-tollgate_login={value}"})

    assert {"__Host-tollgate_login", "secure", "path=/"} <= cookie_of(answer)
    assert me.json()["came_by"] == "login"


async def test_me_tells_who_one_is_and_how_one_came_in(serving: Running):
    secret, token = await serving.service.tokens.create(
        "ann", ("chat",), agents=["default"], projects=["default"], days=1
    )
    async with holding(serving, secret) as bare, browser(serving, secret) as ann:
        by_token, by_cookie = (await bare.get("/me")).json(), (await ann.client.get("/me")).json()

    assert by_token == {
        "user_id": "ann",
        "scopes": ["chat"],
        "agents": ["default"],
        "projects": ["default"],
        "limits": {},
        "came_by": "token",
        "expires_at": token.expires_at,
        "csrf_token": None,
        "max_upload_bytes": 32 << 20,
    }
    assert by_cookie == {**by_token, "came_by": "login", "csrf_token": ann.me["csrf_token"]}
    assert by_cookie == ann.me


async def test_a_page_of_ours_may_change_things_with_its_csrf_token(serving: Running):
    async with browser(serving, OWNER) as owner:
        answer = await owner.client.post("/sessions", json={}, headers=owner.page)

    assert answer.status_code == 201


def without(owner: Browser, name: str) -> dict[str, str]:
    return {key: value for key, value in owner.page.items() if key != name}


@pytest.mark.parametrize(
    ("missing", "instead"),
    [
        ("x-csrf-token", {}),
        ("x-csrf-token", {"x-csrf-token": "0" * 64}),
        ("origin", {}),
        ("origin", {"origin": "https://evil.example"}),
        ("origin", {"origin": "null"}),
    ],
)
async def test_a_change_with_a_cookie_needs_both_proofs(
    serving: Running, missing: str, instead: dict[str, str]
):
    async with browser(serving, OWNER) as owner:
        headers = {**without(owner, missing), **instead}
        reported = await problem(await owner.client.post("/sessions", json={}, headers=headers))

    assert (reported["status"], reported["code"]) == (403, "forbidden")


async def test_the_csrf_token_of_another_login_is_worth_nothing(serving: Running):
    async with browser(serving, OWNER) as one, browser(serving, OWNER) as other:
        answer = await one.client.post("/sessions", json={}, headers=other.page)

    assert answer.status_code == 403


async def test_a_cookie_reads_nothing_for_a_foreign_page(serving: Running):
    async with browser(serving, OWNER) as owner:
        headers = {"origin": "https://evil.example"}
        answer = await owner.client.get("/sessions", headers=headers)

    assert answer.status_code == 403


async def test_signing_out_ends_the_login_at_once(serving: Running):
    async with browser(serving, OWNER) as owner:
        cookie = {"cookie": owner.cookie}
        answer = await owner.client.post("/logout", headers=owner.page)
        assert "tollgate_login" not in owner.client.cookies
        again = await owner.client.get("/me", headers=cookie)

    assert answer.json() == {"signed_out": True}
    assert again.status_code == 401
    assert [actor for actor, _ in await audited(serving, "auth.logout")] == ["admin"]


async def test_signing_in_again_ends_the_login_of_that_browser(serving: Running):
    async with browser(serving, OWNER) as owner:
        former = {"cookie": owner.cookie}
        await owner.client.post("/login", json={"token": OWNER}, headers=owner.page)
        assert (await owner.client.get("/me")).status_code == 200
        owner.client.cookies.clear()

        assert (await owner.client.get("/me", headers=former)).status_code == 401


async def test_a_login_ends_with_its_token(serving: Running):
    secret, token = await serving.service.tokens.create("ann", ("chat",))
    async with browser(serving, secret) as ann:
        assert (await ann.client.get("/sessions")).status_code == 200
        await serving.service.tokens.revoke(token.id)

        assert (await ann.client.get("/sessions")).status_code == 401


async def test_a_token_beside_a_cookie_wins(serving: Running):
    async with browser(serving, OWNER) as owner:
        wrong = {"authorization": "Bearer tg_wrong"}
        assert (await owner.client.get("/me", headers=wrong)).status_code == 401
        right = {"authorization": f"Bearer {OWNER}"}
        assert (await owner.client.post("/sessions", json={}, headers=right)).status_code == 201


async def test_failed_attempts_are_limited_per_address_and_audited(
    serving: Running, client: httpx2.AsyncClient
):
    for _ in range(5):
        assert (await client.post("/login", json={"token": OWNER})).status_code == 200
    answers = [await client.post("/login", json={"token": "tg_guesswork"}) for _ in range(4)]
    # Whoever came in from there before is not kept out by those who guess.
    known = await client.post("/login", json={"token": OWNER})

    assert [answer.status_code for answer in answers] == [401, 401, 401, 429]
    assert (await problem(answers[-1]))["code"] == "rate_limited"
    assert 0 < int(answers[-1].headers["retry-after"]) <= 20
    assert known.status_code == 200
    assert [actor for actor, _ in await audited(serving, "auth.login")] == ["admin"] * 6
    assert await audited(serving, "auth.locked") == [("unknown", '{"seconds":15}')]
    refused = await audited(serving, "auth.refused")
    assert len(refused) == 3
    assert "tg_guesswork" not in str(refused)


async def test_a_header_that_anybody_may_send_names_no_source(
    serving: Running, client: httpx2.AsyncClient
):
    answers = []
    for number in range(5):
        source = f"10.0.0.{number}"
        spoofed = {"x-forwarded-for": source, "x-real-ip": source, "forwarded": f"for={source}"}
        answers.append(await client.post("/login", json={"token": "tg_guesswork"}, headers=spoofed))

    assert [answer.status_code for answer in answers] == [401, 401, 401, 429, 429]
    db = serving.service.db
    rows = await db.transact(
        lambda t: t.fetch("SELECT DISTINCT subject FROM audit WHERE kind = 'auth.refused'", ())
    )
    assert rows == [("127.0.0.1",)]


async def test_the_audit_names_who_called_not_whose_session_it_was(serving: Running):
    async with user(serving, "bob") as bob, user(serving, "root", "admin") as root:
        body = {"arguments": {"expression": "1+1"}, "session_id": await new_session(bob)}
        for client in (bob, root):
            assert (await client.post("/tools/calculator/call", json=body)).status_code == 200
    assert [actor for actor, _ in await audited(serving, "call.finished")] == ["bob", "root"]


async def test_a_wrong_token_is_audited_wherever_it_is_shown(
    serving: Running, client: httpx2.AsyncClient
):
    await client.get("/me", headers={"authorization": "Bearer tg_not_of_this_house"})

    ((_, detail),) = await audited(serving, "auth.refused")
    assert "tg_not_o" in detail
    assert "tg_not_of" not in detail


async def test_a_stream_ends_with_the_rights_of_its_reader(serving: Running):
    secret, token = await serving.service.tokens.create("ann", ("chat",))
    async with holding(serving, secret) as ann:
        session_id = await new_session(ann)
        async with ann.stream("GET", f"/sessions/{session_id}/events/stream") as answer:
            await serving.service.tokens.revoke(token.id)
            async for _ in answer.aiter_lines():
                pass

    assert answer.status_code == 200


async def test_every_answer_tells_browsers_to_keep_out(
    serving: Running, client: httpx2.AsyncClient
):
    found = await client.get("/health")
    refused = await client.post("/sessions", json={}, headers={"origin": "https://evil.example"})

    for answer in (found, refused):
        shown = {name: answer.headers.get(name) for name in EXPECTED_HEADERS}
        assert shown == EXPECTED_HEADERS


async def test_a_house_is_closed_without_any_token(tmp_path: Path):
    async with (
        serve(settings_for(tmp_path, allow_anonymous=False)) as running,
        HttpClient(base_url=running.api) as client,
    ):
        assert (await client.get("/sessions")).status_code == 401
        assert (await client.get("/health")).status_code == 200


async def test_an_open_house_says_so_and_closes_with_its_first_token(tmp_path: Path):
    async with (
        serve(settings_for(tmp_path)) as running,
        HttpClient(base_url=running.api) as client,
    ):
        me = (await client.get("/me")).json()
        await running.service.tokens.create("first", ("chat",))

        assert (me["user_id"], me["came_by"]) == ("local", "open_house")
        assert (await client.get("/me")).status_code == 401


async def test_a_token_for_one_project_works_in_that_one_alone(serving: Running):
    async with (
        user(serving, "ann", projects=["default"]) as inside,
        user(serving, "ann", projects=["other"]) as outside,
    ):
        session_id = await new_session(inside)
        refused = await problem(await outside.post("/sessions", json={"project_id": "default"}))
        nowhere = await outside.post("/sessions", json={"project_id": None})
        hidden = await outside.get(f"/sessions/{session_id}")
        call = {"arguments": {"expression": "1"}}
        direct = await outside.post("/tools/calculator/call", json=call)
        inside_it = await outside.post(
            "/tools/calculator/call", json={**call, "session_id": session_id}
        )
        listed = [(await who.get("/sessions")).json()["sessions"] for who in (inside, outside)]
        projects = (await outside.get("/projects")).json()["projects"]

    assert (refused["status"], refused["details"]) == (403, {"projects": ["other"]})
    assert (nowhere.status_code, direct.status_code) == (403, 403)
    assert (hidden.status_code, inside_it.status_code) == (404, 404)
    assert [len(sessions) for sessions in listed] == [1, 0]
    assert projects == []


async def test_a_token_for_one_agent_works_with_that_one_alone(serving: Running):
    async with (
        user(serving, "ann", agents=["default"]) as inside,
        user(serving, "ann", agents=["other"]) as outside,
    ):
        session_id = await new_session(inside)
        refused = await problem(await outside.post("/sessions", json={}))
        wrong = await inside.post("/sessions", json={"agent_id": "other"})
        hidden = await outside.get(f"/sessions/{session_id}")
        listed = [(await who.get("/sessions")).json()["sessions"] for who in (inside, outside)]

    assert (refused["status"], refused["details"]) == (403, {"agents": ["other"]})
    assert (wrong.status_code, hidden.status_code) == (403, 404)
    assert [len(sessions) for sessions in listed] == [1, 0]
