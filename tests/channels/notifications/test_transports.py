"""Each kind of channel, against a scripted provider on loopback."""

from __future__ import annotations

import asyncio
import base64
import email
import hmac
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from email import policy
from email.message import EmailMessage
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from aiosmtpd.smtp import SMTP
from pydantic import ValidationError

from app.channels.notifications.kinds import TransportServices
from app.channels.notifications.transport import (
    DeliveryFailed,
    DeliveryUncertain,
    Notification,
    Transport,
)
from app.channels.notifications.transports import TRANSPORTS
from app.config.web import WebSettings
from app.core.clock import ManualClock
from app.core.field_problems import FieldError
from app.operations.web.client import Web
from tests.channels.notifications.provider import Provider, Reply, provider
from tests.support.certificates import certificate, server_context

KEY = "whsec_" + base64.b64encode(b"k" * 32).decode()
MESSAGE = Notification(
    id="ntf_1",
    event="opened",
    kind="confirmation",
    item_id="cfm_1",
    subject="Approval needed: bash: rm -rf build",
    body="Agent: Builder\nTool: bash",
    link="https://tollgate.test/approvals/cfm_1",
    risk="high",
    expires_at="2026-01-01T00:10:00.000Z",
    outcome=None,
)
ENDED = replace(
    MESSAGE, id="ntf_2", event="closed", subject="Declined by bob", body="", outcome="declined"
)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def services(clock: ManualClock) -> AsyncIterator[TransportServices]:
    web = Web(WebSettings(), clock)
    yield TransportServices(lambda: web, clock)
    await web.aclose()


@pytest.fixture
async def peer() -> AsyncIterator[Provider]:
    async with provider() as running:
        yield running


def transport(
    kind: str,
    services: TransportServices,
    secrets: dict[str, Any] | None = None,
    **settings: Any,
) -> Transport:
    made = TRANSPORTS[kind]
    return made.make(
        made.settings.model_validate(settings), made.secrets.model_validate(secrets or {}), services
    )


@pytest.mark.requirement("APR-1")
async def test_a_webhook_is_signed_and_repeated_under_one_id(
    services: TransportServices, peer: Provider, clock: ManualClock
):
    hook = transport("webhook", services, {"url": f"{peer.url}/in?a=b", "key": KEY})
    assert await hook.send("", MESSAGE) is None
    clock.advance(60)
    await hook.send("", MESSAGE)
    await hook.update("", None, ENDED)
    first, second, ended = peer.arrived
    assert (first.method, first.target) == ("POST", "/in?a=b")
    assert first.headers["webhook-id"] == second.headers["webhook-id"] == "ntf_1"
    assert first.body == second.body
    assert first.headers["webhook-timestamp"] != second.headers["webhook-timestamp"]
    for arrival in peer.arrived:
        signed = f"{arrival.headers['webhook-id']}.{arrival.headers['webhook-timestamp']}."
        mac = hmac.digest(b"k" * 32, signed.encode() + arrival.body, sha256)
        assert arrival.headers["webhook-signature"] == f"v1,{base64.b64encode(mac).decode()}"
    assert first.json["type"] == "notification.opened"
    assert first.json["data"]["link"] == MESSAGE.link
    assert (ended.json["type"], ended.json["data"]["outcome"]) == (
        "notification.closed",
        "declined",
    )


async def test_ntfy_replaces_a_message_by_its_sequence(services: TransportServices, peer: Provider):
    push = transport("ntfy", services, {"token": "tk_1"}, server=peer.url)
    await push.send("alerts-6f2a", MESSAGE)
    await push.update("alerts-6f2a", None, ENDED)
    first, second = (arrival.json for arrival in peer.arrived)
    assert peer.arrived[0].headers["authorization"] == "Bearer tk_1"
    assert first == {
        "topic": "alerts-6f2a",
        "title": MESSAGE.subject,
        "message": MESSAGE.body,
        "click": MESSAGE.link,
        "priority": 5,
        "sequence_id": "cfm_1",
    }
    assert (second["sequence_id"], second["title"]) == ("cfm_1", "Declined by bob")
    assert "actions" not in first


async def test_discord_edits_its_message(services: TransportServices, peer: Provider):
    chat = transport("discord", services, {"url": f"{peer.url}/api/webhooks/1/secret-token"})
    peer.usual = Reply(body=b'{"id": "42"}')
    reference = await chat.send("", MESSAGE)
    await chat.update("", reference, ENDED)
    first, second = peer.arrived
    assert reference == "42"
    assert (first.method, first.target) == ("POST", "/api/webhooks/1/secret-token?wait=true")
    assert (second.method, second.target) == ("PATCH", "/api/webhooks/1/secret-token/messages/42")
    assert first.json["allowed_mentions"] == {"parse": []}
    assert "Declined by bob" in second.json["content"]


async def test_mattermost_quotes_what_an_agent_may_have_written(
    services: TransportServices, peer: Provider
):
    chat = transport("mattermost", services, {"url": f"{peer.url}/hooks/abc"})
    await chat.send("@ann", replace(MESSAGE, subject="@channel ```` [x](http://evil)"))
    await chat.update("", None, ENDED)
    first, second = (arrival.json for arrival in peer.arrived)
    assert first["channel"] == "@ann"
    lines = first["text"].splitlines()
    assert (lines[0], lines[1]) == ("`````", "@channel ```` [x](http://evil)")
    assert lines[-2:] == ["`````", f"[Open the request]({MESSAGE.link})"]
    assert "channel" not in second


async def test_teams_gets_a_card_without_markdown(services: TransportServices, peer: Provider):
    chat = transport("teams", services, {"url": f"{peer.url}/workflows/1?sig=abc"})
    await chat.send("", MESSAGE)
    await chat.update("", None, ENDED)
    first, second = (arrival.json["attachments"][0]["content"] for arrival in peer.arrived)
    assert {block["type"] for block in first["body"]} == {"RichTextBlock"}
    texts = [block["inlines"][0]["text"] for block in first["body"]]
    assert texts == [MESSAGE.subject, "Agent: Builder", "Tool: bash"]
    assert first["actions"][0]["url"] == MESSAGE.link
    assert second["body"][0]["inlines"][0]["text"] == "Declined by bob"


HTTP_KINDS: dict[str, dict[str, Any]] = {
    "webhook": {"url": "{}/s3cret-path-of-hook", "key": KEY},
    "discord": {"url": "{}/s3cret-path-of-hook"},
    "mattermost": {"url": "{}/s3cret-path-of-hook"},
    "teams": {"url": "{}/s3cret-path-of-hook"},
    "ntfy": {},
}


def http_transport(kind: str, services: TransportServices, peer: Provider) -> tuple[Transport, str]:
    secrets = {name: value.format(peer.url) for name, value in HTTP_KINDS[kind].items()}
    if kind == "ntfy":
        return transport(kind, services, secrets, server=peer.url), "topic"
    return transport(kind, services, secrets), ""


async def failure(transport: Transport, address: str) -> DeliveryFailed:
    with pytest.raises(DeliveryFailed) as caught:
        await transport.send(address, MESSAGE)
    return caught.value


@pytest.mark.parametrize("kind", HTTP_KINDS)
@pytest.mark.parametrize(
    ("status", "headers", "expected"),
    [
        ("429 Too Many", {"Retry-After": "7"}, (False, False, 7.0)),
        ("503 Busy", {"Retry-After": "Thu, 01 Jan 2026 00:01:00 GMT"}, (False, False, 60.0)),
        ("503 Busy", {"Retry-After": "soon"}, (False, False, None)),
        ("500 Oops", {}, (False, False, None)),
        ("401 No", {}, (True, False, None)),
        ("302 Found", {"Location": "http://elsewhere.test/"}, (True, False, None)),
        ("410 Gone", {}, (True, True, None)),
    ],
)
async def test_answers_say_whether_a_retry_helps(
    services: TransportServices,
    peer: Provider,
    kind: str,
    status: str,
    headers: dict[str, str],
    expected: tuple[bool, bool, float | None],
):
    sent, address = http_transport(kind, services, peer)
    peer.usual = Reply(status, headers)
    error = await failure(sent, address)
    assert (error.permanent, error.gone, error.retry_after_s) == expected
    assert not isinstance(error, DeliveryUncertain)
    assert "s3cret" not in error.reason
    assert len(peer.arrived) == 1


@pytest.mark.parametrize("kind", HTTP_KINDS)
async def test_a_lost_answer_is_uncertain_and_a_refused_connection_is_not(
    services: TransportServices, peer: Provider, kind: str
):
    sent, address = http_transport(kind, services, peer)
    peer.usual = Reply(hangs=True)
    lost = await failure(sent, address)
    assert isinstance(lost, DeliveryUncertain)
    assert "s3cret" not in lost.reason
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        peer.port = free.getsockname()[1]
        sent, address = http_transport(kind, services, peer)
        refused = await failure(sent, address)
    assert not isinstance(refused, DeliveryUncertain)
    assert not refused.permanent


# -- mail -------------------------------------------------------------------------------


class Mailbox:
    """Handler of a mail server that answers with `answer`."""

    def __init__(self) -> None:
        self.mails: list[EmailMessage] = []
        self.answer = "250 OK"

    async def handle_RCPT(self, server, session, envelope, address, options):  # noqa: N802 - its name
        if not self.answer.startswith("25") and "recipient" in self.answer:
            return self.answer
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):  # noqa: N802 - its name
        if self.answer.startswith("25"):
            self.mails.append(email.message_from_bytes(envelope.content, policy=policy.default))
        return self.answer


@asynccontextmanager
async def mail_server(
    mailbox: Mailbox, *, over: ssl.SSLContext | None = None, **options: Any
) -> AsyncIterator[int]:
    """Serve mail on a free port of loopback; `over` TLS from the first byte."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: SMTP(mailbox, loop=loop, **options), "127.0.0.1", 0, ssl=over
    )
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


def mailer(services: TransportServices, port: int, **settings: Any) -> Transport:
    usual: dict[str, Any] = {
        "host": "127.0.0.1",
        "port": port,
        "tls": "none",
        "sender": "gate@example.org",
    }
    return transport("smtp", services, **(usual | settings))


async def test_mails_of_a_request_are_one_thread(services: TransportServices):
    mailbox = Mailbox()
    async with mail_server(mailbox) as port:
        sent = mailer(services, port)
        await sent.send("ann@example.org", MESSAGE)
        await sent.send("ann@example.org", MESSAGE)
        await sent.update("ann@example.org", None, ENDED)
    first, again, ended = mailbox.mails
    assert first["Message-ID"] == again["Message-ID"] == "<ntf_1@example.org>"
    assert ended["Message-ID"] == "<ntf_2@example.org>"
    assert {mail["References"] for mail in mailbox.mails} == {"<cfm_1@example.org>"}
    assert first["Date"] == "Thu, 01 Jan 2026 00:00:00 +0000"
    assert (first["To"], first["Subject"]) == ("ann@example.org", MESSAGE.subject)
    assert first.get_content().strip().splitlines() == [
        *MESSAGE.body.splitlines(),
        "",
        MESSAGE.link,
    ]


@pytest.mark.parametrize(
    ("answer", "permanent"),
    [
        ("451 later", False),
        ("554 no", True),
        ("450 recipient is greylisted", False),
        ("550 recipient is unknown", True),
    ],
)
async def test_a_mail_server_says_whether_a_retry_helps(
    services: TransportServices, answer: str, *, permanent: bool
):
    mailbox = Mailbox()
    mailbox.answer = answer
    async with mail_server(mailbox) as port:
        error = await failure(mailer(services, port), "ann@example.org")
    assert error.permanent == permanent
    assert not isinstance(error, DeliveryUncertain)


@pytest.mark.parametrize("tls", ["tls", "starttls"])
async def test_mail_goes_only_to_a_server_with_a_trusted_certificate(
    services: TransportServices,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    tls: str,
):
    path = certificate(tmp_path, "localhost")
    mailbox = Mailbox()
    context = server_context(path)
    options = {"over": context} if tls == "tls" else {"tls_context": context}
    async with mail_server(mailbox, **options) as port:
        sent = mailer(services, port, host="localhost", tls=tls)
        error = await failure(sent, "ann@example.org")
        assert not isinstance(error, DeliveryUncertain)
        assert mailbox.mails == []
        monkeypatch.setenv("SSL_CERT_FILE", str(path))
        await sent.send("ann@example.org", MESSAGE)
    assert len(mailbox.mails) == 1


async def test_a_mail_server_without_tls_is_not_used_unless_that_is_chosen(
    services: TransportServices,
):
    mailbox = Mailbox()
    async with mail_server(mailbox) as port:
        error = await failure(mailer(services, port, tls="starttls"), "ann@example.org")
    assert mailbox.mails == []
    assert "127.0.0.1" in error.reason


async def test_a_mail_server_that_is_away_is_asked_again(services: TransportServices):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        error = await failure(mailer(services, free.getsockname()[1]), "ann@example.org")
    assert not error.permanent


async def test_a_password_is_not_sent_in_the_clear():
    settings = {"host": "mail.test", "sender": "gate@example.org", "username": "gate"}
    TRANSPORTS["smtp"].settings.model_validate(settings)
    with pytest.raises(ValidationError, match="username needs tls"):
        TRANSPORTS["smtp"].settings.model_validate({**settings, "tls": "none"})


async def test_headers_cannot_be_injected(services: TransportServices):
    mailbox = Mailbox()
    hostile = replace(MESSAGE, subject="Hello\r\nBcc: eve@example.org", item_id="a>\r\nX: y")
    async with mail_server(mailbox) as port:
        await mailer(services, port).send("ann@example.org", hostile)
    (mail,) = mailbox.mails
    assert mail["Bcc"] is None
    assert mail["X"] is None
    assert mail["Subject"] == "Hello Bcc: eve@example.org"


@pytest.mark.parametrize(
    ("kind", "address"),
    [
        ("smtp", "ann@example.org\r\nBcc: eve@example.org"),
        ("smtp", "ann"),
        ("smtp", ""),
        ("smtp", "ann@example.org, eve@example.org"),
        ("ntfy", "a/b"),
        ("ntfy", ""),
        ("mattermost", "town square"),
        ("webhook", "anything"),
        ("discord", "anything"),
        ("teams", "anything"),
    ],
)
def test_wrong_addresses_are_refused(kind: str, address: str):
    with pytest.raises(FieldError):
        TRANSPORTS[kind].address(address)


@pytest.mark.parametrize("kind", TRANSPORTS)
def test_unknown_fields_and_wrong_secrets_are_refused_without_repeating_them(kind: str):
    made = TRANSPORTS[kind]
    with pytest.raises(ValidationError):
        made.settings.model_validate({"unknown": 1})
    with pytest.raises(ValidationError) as caught:
        made.secrets.model_validate({"url": "not-an-address", "key": "whsec_short", "x": "s3cret"})
    noted = str(caught.value.errors(include_input=False, include_url=False))
    assert "s3cret" not in noted
    assert "not-an-address" not in noted
