"""Deliveries over HTTP, to a served service with a scripted model."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

from app.agents.models.anthropic import AnthropicModel, AnthropicSettings
from app.agents.webhooks.receiver import MAX_BODY_BYTES
from app.agents.webhooks.signatures import HEADER
from app.api.rest.webhook_deliveries import MAX_READING
from tests.agents.models.exchange import KEY, Waits
from tests.agents.webhooks.sender import signed
from tests.api.rest.client import problem
from tests.support.http import HttpClient
from tests.support.scripted_anthropic.server import ScriptedAnthropic
from tests.support.scripted_anthropic.turns import Turn, text
from tests.support.service import PATIENCE_S, Running, serving, settings_for

OWNER = "operator-secret-0123456789"
NEW = {"name": "ci", "template": "Look:\n{{body}}", "owner": "ann", "project_id": "default"}


@dataclass
class Place:
    """A served service, an administrator of it, and a system that has no token."""

    running: Running
    admin: httpx2.AsyncClient
    other: httpx2.AsyncClient
    provider: ScriptedAnthropic

    async def make(self, **fields: Any) -> dict[str, Any]:
        answer = await self.admin.post("/admin/webhooks", json=NEW | fields)
        assert answer.status_code == 201, answer.text
        made: dict[str, Any] = answer.json()
        return made

    async def deliver(
        self,
        secret: str,
        body: bytes = b"It broke.",
        name: str = "ci",
        headers: dict[str, str] | None = None,
    ) -> httpx2.Response:
        sent = {HEADER: signed(secret, time.time(), body)} | (headers or {})
        return await self.other.post(f"/hooks/{name}", content=body, headers=sent)


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    settings = settings_for(tmp_path, token=OWNER)
    async with ScriptedAnthropic(*[Turn(text("Seen"))] * 9, api_key=KEY) as provider:
        configured = AnthropicSettings(api_key=KEY, base_url=provider.base_url)
        model = AnthropicModel(configured, sleep=Waits())
        token = {"Authorization": f"Bearer {OWNER}"}
        async with (
            serving(settings, model=model) as running,
            HttpClient(base_url=running.api, headers=token) as admin,
            HttpClient(base_url=running.api) as other,
        ):
            yield Place(running, admin, other, provider)


@pytest.mark.requirement("SYS-03")
async def test_a_signed_delivery_begins_a_run_without_a_token(place: Place):
    made = await place.make()
    answer = await place.deliver(made["secret"], headers={"Content-Type": "text/plain"})
    assert answer.status_code == 202, answer.text
    begun = answer.json()
    active = place.running.service.runs.active(begun["session_id"])
    if active is not None:
        async with asyncio.timeout(PATIENCE_S):
            await active.done
    session = (await place.admin.get(f"/sessions/{begun['session_id']}")).json()
    assert (session["title"], session["project_id"]) == ("ci", "default")
    asked = (await place.provider.received(1)).messages[-1]["content"][0]["text"]
    assert "It broke." in asked
    rows = (await place.admin.get("/admin/audit", params={"kind": "webhook.accepted"})).json()
    assert [row["run_id"] for row in rows["rows"]] == [begun["run_id"]]
    again = await place.other.post(
        "/hooks/ci", content=b"It broke.", headers={HEADER: answer.request.headers[HEADER]}
    )
    assert (await problem(again))["code"] == "conflict"


@pytest.mark.requirement("SYS-03")
async def test_unknown_names_and_wrong_signatures_get_the_same_answer(place: Place):
    made = await place.make()
    answers = [
        await place.deliver("whsec_wrong"),
        await place.deliver(made["secret"], name="nothing"),
        await place.deliver("whsec_wrong", name="x" * 300),
        await place.deliver("whsec_wrong", name="%00"),
        await place.other.post("/hooks/ci", content=b"x"),
        await place.other.post("/hooks/nothing", content=b"x"),
        await place.other.post(
            "/hooks/ci", headers={HEADER: signed(made["secret"], time.time() - 400, b"")}
        ),
        await place.admin.post("/hooks/ci", content=b"x"),
    ]
    first = answers[0]
    assert first.status_code == 401
    for answer in answers[1:]:
        assert (answer.status_code, answer.content) == (401, first.content)
        assert answer.headers.keys() == first.headers.keys()
    rows = (await place.admin.get("/admin/audit", params={"kind": "auth.refused"})).json()["rows"]
    assert len(rows) == len(answers)


async def test_two_signatures_are_none(place: Place):
    made = await place.make()
    good = signed(made["secret"], time.time(), b"x")
    for headers in ([(HEADER, good), (HEADER, good)], [(HEADER, f"{good}, {good}")]):
        answer = await place.other.post("/hooks/ci", content=b"x", headers=headers)
        assert answer.status_code == 401


async def test_a_large_body_is_refused_for_every_name_alike(place: Place):
    made = await place.make()
    body = b"x" * (MAX_BODY_BYTES + 1)

    async def pieces() -> AsyncIterator[bytes]:
        for start in range(0, len(body), 65_536):
            yield body[start : start + 65_536]

    headers = {HEADER: signed(made["secret"], time.time(), body)}
    for name in ("ci", "nothing"):
        announced = await place.other.post(f"/hooks/{name}", content=body, headers=headers)
        streamed = await place.other.post(f"/hooks/{name}", content=pieces(), headers=headers)
        assert (announced.status_code, streamed.status_code) == (413, 413)
    fits = await place.deliver(made["secret"], body[:MAX_BODY_BYTES])
    assert fits.status_code == 202


@pytest.mark.requirement("SYS-03")
async def test_one_delivery_sent_many_times_at_once_begins_one_run(place: Place):
    made = await place.make()
    headers = {HEADER: signed(made["secret"], time.time(), b"x")}
    answers = await asyncio.gather(
        *(place.other.post("/hooks/ci", content=b"x", headers=headers) for _ in range(10))
    )
    assert sorted(answer.status_code for answer in answers) == [202] + [409] * 9


@dataclass
class Slow:
    """A sender that announces a body of one byte, and keeps it."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def status(self) -> str:
        """The status of the next answer."""
        async with asyncio.timeout(PATIENCE_S):
            head = await self.reader.readuntil(b"\r\n\r\n")
        return head.split()[1].decode()


async def slow(place: Place, signature: str) -> Slow:
    host, _, port = place.running.url.removeprefix("http://").partition(":")
    opened = Slow(*await asyncio.open_connection(host, int(port)))
    lines = (f"Host: {host}", "Content-Length: 1", "Expect: 100-continue", f"{HEADER}: {signature}")
    head = "\r\n".join(["POST /api/v1/hooks/ci HTTP/1.1", *lines, "", ""])
    opened.writer.write(head.encode())
    return opened


async def test_only_so_many_bodies_are_read_at_the_same_time(place: Place):
    made = await place.make()
    signature = signed(made["secret"], time.time(), b"x")
    waiting = [await slow(place, signature) for _ in range(MAX_READING)]
    # The service asks for a body when it begins to read it.
    assert {await sender.status() for sender in waiting} == {"100"}
    assert (await place.deliver(made["secret"], b"another")).status_code == 429
    for sender in waiting:
        sender.writer.write(b"x")
    answers = sorted([await sender.status() for sender in waiting])
    assert answers == ["202"] + ["409"] * (MAX_READING - 1)
    assert (await place.deliver(made["secret"], b"another")).status_code == 202
    for sender in waiting:
        sender.writer.close()
        await sender.writer.wait_closed()


async def test_a_foreign_page_cannot_deliver_and_a_cookie_means_nothing(place: Place):
    made = await place.make()
    foreign = await place.deliver(made["secret"], headers={"Origin": "https://evil.example"})
    assert foreign.status_code == 403
    unsigned = await place.other.post("/hooks/ci", headers={"Cookie": f"tollgate_login={OWNER}"})
    assert unsigned.status_code == 401
    assert (await place.other.get("/hooks/ci")).status_code == 405
    wrong_host = await place.deliver(made["secret"], headers={"Host": "evil.example"})
    assert wrong_host.status_code == 403


# -- administering ------------------------------------------------------------------------


async def test_a_webhook_is_made_changed_paused_rotated_and_forgotten(place: Place):
    made = await place.make()
    path = f"/admin/webhooks/{made['id']}"
    assert made["secret"].startswith("whsec_")
    shown = await place.admin.get(path)
    assert shown.json() == {name: made[name] for name in made if name != "secret"}
    assert shown.headers["etag"] == '"1"'
    match = {"If-Match": '"1"'}
    changed = await place.admin.patch(path, json={"per_minute": 60}, headers=match)
    assert (changed.json()["per_minute"], changed.headers["etag"]) == (60, '"2"')
    for method, more, body in (
        ("PATCH", "", {"per_minute": 1}),
        ("POST", "/pause", {"paused": True}),
        ("POST", "/rotate", None),
        ("DELETE", "", None),
    ):
        late = await place.admin.request(method, f"{path}{more}", json=body, headers=match)
        assert late.status_code == 412, more
    paused = await place.admin.post(f"{path}/pause", json={"paused": True})
    assert paused.json()["paused"] == "paused"
    assert (await problem(await place.deliver(made["secret"])))["code"] == "conflict"
    await place.admin.post(f"{path}/pause", json={"paused": False})
    rotated = (await place.admin.post(f"{path}/rotate")).json()
    assert (await place.deliver(made["secret"])).status_code == 401
    assert (await place.deliver(rotated["secret"])).status_code == 202
    page = (await place.admin.get("/admin/webhooks")).json()
    assert (len(page["webhooks"]), "secret" in page["webhooks"][0]) == (1, False)
    assert (await place.admin.delete(path)).json()["name"] == "ci"
    assert (await place.deliver(rotated["secret"])).status_code == 401
    audit = await place.admin.get("/admin/audit", params={"kind": "governance.webhook"})
    outcomes = {row["outcome"] for row in audit.json()["rows"]}
    assert outcomes == {"created", "changed", "paused", "resumed", "rotated", "removed"}
    assert not {made["secret"], rotated["secret"]} & set(audit.text.split('"'))


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"name": "CI"}, "body.name"),
        ({"template": " "}, "body.template"),
        ({"template": "{{body}} {{body}}"}, "template"),
        ({"agent_id": "nobody"}, "agent_id"),
        ({"project_id": "nowhere"}, "project_id"),
        ({"per_minute": 0}, "body.per_minute"),
        ({"secret": "mine"}, "body.secret"),
    ],
)
async def test_what_does_not_fit_is_refused_by_name(place: Place, body: dict[str, Any], field: str):
    answer = await place.admin.post("/admin/webhooks", json=NEW | body)
    reported = await problem(answer)
    assert (answer.status_code, reported["details"]["errors"][0]["path"]) == (422, field)


async def test_two_webhooks_cannot_have_one_name_also_while_one_is_paused(place: Place):
    await place.make()
    assert (await place.admin.post("/admin/webhooks", json=NEW)).status_code == 409
    other = f"/admin/webhooks/{(await place.make(name='other'))['id']}"
    await place.admin.post(f"{other}/pause", json={"paused": True})
    assert (await place.admin.patch(other, json={"name": "ci"})).status_code == 409
