"""Web Push: messages that browsers can read and push services accept, and what refusals mean."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import http_ece
import orjson
import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given
from hypothesis import strategies as st

from app.channels.notifications.push_encryption import MAX_MESSAGE, MAX_TEXT, decode, encrypt
from app.channels.notifications.transport import DeliveryFailed, DeliveryUncertain
from app.channels.notifications.web_push import (
    PushSubscription,
    VapidKeys,
    WebPush,
    payload,
    topic,
)
from app.core.clock import ManualClock
from app.core.errors import InvalidInput
from app.knowledge.sources.encryption import KeyFile
from tests.channels.notifications.chat_lab import (
    Arrived,
    Reply,
    ScriptedService,
    message,
    running,
    web_access,
)

pytestmark = pytest.mark.requirement("APR-4")

CONTACT = "mailto:admin@example.org"


def b64(data: bytes) -> str:
    return urlsafe_b64encode(data).decode().rstrip("=")


class Browser:
    """A subscription's secrets, and a push service that knows the key it was made with."""

    def __init__(self) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.secret = b"0123456789abcdef"
        self.reply = Reply(201)
        self.service = ScriptedService(self._handle)

    @property
    def point(self) -> bytes:
        return self.key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)

    @property
    def address(self) -> str:
        return self.address_at(f"{self.service.url}/push/1")

    def address_at(self, endpoint: str, **keys: str) -> str:
        usual = {"p256dh": b64(self.point), "auth": b64(self.secret)}
        fields = {"endpoint": endpoint, "expirationTime": None, "keys": usual | keys}
        return orjson.dumps(fields).decode()

    async def _handle(self, arrived: Arrived) -> Reply:
        assert arrived.method == "POST"
        return self.reply

    def read(self, arrived: Arrived) -> dict[str, Any]:
        """Return the message as the browser sees it, decrypted by another implementation."""
        text = http_ece.decrypt(
            arrived.body, private_key=self.key, auth_secret=self.secret, version="aes128gcm"
        )
        message: dict[str, Any] = orjson.loads(text)
        return message


class World:
    """A browser, and the transport that reaches it."""

    def __init__(self, browser: Browser, push: WebPush, keys: VapidKeys, clock: ManualClock):
        self.browser = browser
        self.push = push
        self.keys = keys
        self.clock = clock

    async def sent(self, **changes: Any) -> Arrived:
        assert await self.push.send(self.browser.address, message(**changes)) is None
        return self.browser.service.arrived[-1]


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with AsyncExitStack() as stack:
        browser = Browser()
        await stack.enter_async_context(running(browser.service))
        web = await stack.enter_async_context(web_access())
        keys = VapidKeys(KeyFile(tmp_path / "keys" / "web-push.key").read)
        clock = ManualClock()
        trusted = [browser.service.url]
        push = WebPush(lambda: web, keys, clock, contact=CONTACT, trusted=trusted)
        yield World(browser, push, keys, clock)


async def test_the_browser_reads_what_was_sent(world: World):
    arrived = await world.sent()

    assert world.browser.read(arrived) == {
        "tag": "cfm_1",
        "event": "opened",
        "kind": "confirmation",
        "title": message().subject,
        "body": message().body,
    }
    assert arrived.headers["content-encoding"] == "aes128gcm"
    assert arrived.headers["urgency"] == "high"
    assert arrived.headers["ttl"] == "300"
    assert b"rm -rf" not in arrived.body


async def test_the_push_service_knows_who_sends(world: World):
    arrived = await world.sent()

    scheme, _, fields = arrived.headers["authorization"].partition(" ")
    parts = dict(part.strip().split("=", 1) for part in fields.split(","))
    assert (scheme, parts["k"]) == ("vapid", world.keys.public_key)
    head, claims, signature = parts["t"].split(".")
    assert orjson.loads(urlsafe_b64decode(head + "==")) == {"typ": "JWT", "alg": "ES256"}
    now = int(world.clock.time())
    assert orjson.loads(urlsafe_b64decode(claims + "==")) == {
        "aud": world.browser.service.url,
        "exp": now + 12 * 3600,
        "sub": CONTACT,
    }
    verify(world.keys.public_key, f"{head}.{claims}", signature)
    with pytest.raises(InvalidSignature):
        verify(world.keys.public_key, f"{head}.{claims}x", signature)


def verify(key: str, text: str, signature: str) -> None:
    raw = decode(signature)
    numbers = (int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big"))
    public = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), decode(key))
    public.verify(encode_dss_signature(*numbers), text.encode(), ec.ECDSA(hashes.SHA256()))


async def test_the_end_replaces_the_message_on_the_way_and_on_the_screen(world: World):
    first = await world.sent()
    await world.push.update(
        world.browser.address, None, message(event="closed", outcome="approved")
    )
    last = world.browser.service.arrived[-1]

    assert first.headers["topic"] == last.headers["topic"] == topic("cfm_1")
    assert len(topic("cfm_1")) <= 32
    assert topic("cfm_1") != topic("cfm_2")
    assert "cfm" not in first.headers["topic"]
    shown = world.browser.read(last)
    assert (shown["event"], shown["tag"]) == ("closed", "cfm_1")
    assert int(last.headers["ttl"]) > int(first.headers["ttl"])


@pytest.mark.parametrize(
    ("expires_at", "ttl"),
    [(None, "86400"), ("2025-12-31T00:00:00.000Z", "0"), ("2027-01-01T00:00:00.000Z", "2419200")],
)
async def test_a_message_is_kept_until_its_request_expires(
    world: World, expires_at: str | None, ttl: str
):
    assert (await world.sent(expires_at=expires_at)).headers["ttl"] == ttl


@pytest.mark.parametrize("status", [404, 410])
async def test_an_ended_subscription_is_gone(world: World, status: int):
    world.browser.reply = Reply(status)

    with pytest.raises(DeliveryFailed) as failed:
        await world.sent()
    assert (failed.value.gone, failed.value.permanent) == (True, True)


@pytest.mark.parametrize(
    ("reply", "permanent", "wait"),
    [
        (Reply(429, headers={"Retry-After": "30"}), False, 30.0),
        (Reply(503, headers={"Retry-After": "Thu, 01 Jan 2026 00:01:00 GMT"}), False, 60.0),
        (Reply(500, headers={"Retry-After": "soon"}), False, None),
        (Reply(403), True, None),
        (Reply(413), True, None),
        (Reply(302, headers={"Location": "http://127.0.0.1/"}), True, None),
    ],
)
async def test_other_refusals_end_or_wait(
    world: World, reply: Reply, *, permanent: bool, wait: float | None
):
    world.browser.reply = reply

    with pytest.raises(DeliveryFailed) as failed:
        await world.sent()
    assert not failed.value.gone
    assert (failed.value.permanent, failed.value.retry_after_s) == (permanent, wait)


async def test_a_lost_response_is_uncertain(world: World):
    world.browser.reply = Reply(sent=False)

    with pytest.raises(DeliveryUncertain) as failed:
        await world.sent()
    assert world.browser.service.url not in str(failed.value)


async def test_only_trusted_origins_may_be_in_a_private_network(world: World):
    address = world.browser.address_at("https://127.0.0.1/push/1")

    with pytest.raises(DeliveryFailed, match="not public") as failed:
        await world.push.send(address, message())
    assert failed.value.permanent


@pytest.mark.parametrize(
    "change",
    [
        {"endpoint": "http://push.example.org/1"},
        {"endpoint": "ftp://push.example.org/1"},
        {"endpoint": "https://push.example.org:22/1"},
        {"endpoint": ""},
        {"p256dh": b64(b"\4" + b"\1" * 64)},
        {"p256dh": b64(b"\4" * 64)},
        {"p256dh": "!"},
        {"auth": b64(b"short")},
        {"auth": "é"},
    ],
)
async def test_a_subscription_that_is_none_is_refused(world: World, change: dict[str, str]):
    endpoint = change.get("endpoint", "https://push.example.org/1")
    keys = {name: value for name, value in change.items() if name != "endpoint"}
    address = world.browser.address_at(endpoint, **keys)

    with pytest.raises(InvalidInput) as refused:
        PushSubscription.read(address)
    assert next(iter(change)) in str(refused.value)
    with pytest.raises(DeliveryFailed) as failed:
        await world.push.send(address, message())
    assert failed.value.permanent


@pytest.mark.parametrize("address", ["", "null", "[]", "{", '{"endpoint": "https://a.example/"}'])
def test_what_is_no_subscription_is_refused(address: str):
    with pytest.raises(InvalidInput):
        PushSubscription.read(address)


def test_the_key_of_the_service_stays_the_same(tmp_path: Path):
    path = tmp_path / "keys" / "web-push.key"
    first = VapidKeys(KeyFile(path).read).public_key

    assert VapidKeys(KeyFile(path).read).public_key == first
    assert path.stat().st_mode & 0o077 == 0
    assert VapidKeys(KeyFile(tmp_path / "other" / "web-push.key").read).public_key != first


@given(subject=st.text(max_size=300), body=st.text(max_size=3000))
def test_every_message_fits(subject: str, body: str):
    browser = Browser()
    packed = payload(message(subject=subject * 3, body=body * 3))
    sealed = encrypt(packed, browser.point, browser.secret)

    assert len(packed) <= MAX_TEXT
    assert len(sealed) <= MAX_MESSAGE
    assert browser.read(Arrived("POST", "/", {}, sealed))["tag"] == "cfm_1"


def test_a_message_that_cannot_be_shortened_fails():
    with pytest.raises(DeliveryFailed) as failed:
        payload(message(item_id="x" * 5000))
    assert failed.value.permanent
    with pytest.raises(ValueError, match="at most"):
        encrypt(b"x" * (MAX_TEXT + 1), Browser().point, b"x" * 16)
