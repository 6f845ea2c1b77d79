"""Slack without a public address: the Web API over HTTP, with Socket Mode for answers.

Blocks and envelopes are those of Slack's SDK. Its clients are not used: the asynchronous ones bring
a second HTTP stack, and repeat a message whose response is lost.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

import orjson
from pydantic import Field, SecretStr
from slack_sdk.errors import SlackObjectFormationError
from slack_sdk.models.blocks import ActionsBlock, ButtonElement, PlainTextObject, SectionBlock
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.socket_mode.response import SocketModeResponse
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException

from app.channels.notifications.chat_answers import ChatAnswers, link_code_in
from app.channels.notifications.http_failures import retry_after, unreachable
from app.channels.notifications.kinds import (
    KindSecrets,
    KindSettings,
    TransportKind,
    TransportServices,
    WebUrlText,
    origin_of,
)
from app.channels.notifications.listener import Backoff, ListenerFailed, ListenerState, listen
from app.channels.notifications.transport import DeliveryFailed, Notification
from app.core.error_boundary import ErrorBoundary
from app.core.errors import ToolFailed
from app.core.field_problems import FieldError
from app.core.text import truncate
from app.operations.web.protocol import WebAccess

API = "https://slack.com/api"
_SERVICE = "Slack"
_TIMEOUT_S, _MAX_ANSWER = 20.0, 8_000_000
_OPEN_S, _PING_S = 15.0, 15.0
_MAX_SECTION, _MAX_LABEL, _MAX_FALLBACK, _MAX_URL = 3000, 75, 3000, 3000
_RECENT = 200
_EVENT_TYPE = "tollgate_notification"
_OPEN, _ALLOW, _DENY = "tollgate_open", "tollgate_allow", "tollgate_deny"
_FAILED = "Something went wrong. Open the request in Tollgate."
_LATER = frozenset(
    {"ratelimited", "internal_error", "fatal_error", "service_unavailable", "request_timeout"}
)
_GONE = frozenset({"channel_not_found", "user_not_found", "is_archived", "user_disabled"})


@dataclass(frozen=True, slots=True)
class SlackApp:
    """Requests of one Slack app. Neither errors nor logs contain its tokens.

    Attributes:
        web: returns the web.
        bot_token: `xoxb-…`, with the scopes `chat:write`, `im:write` and `im:history`; for channels
            also `channels:history` or `groups:history`.
        app_token: `xapp-…` with `connections:write`, for Socket Mode.
        api: address of the Web API; another one than Slack's may be at any network address.
    """

    web: Callable[[], WebAccess]
    bot_token: SecretStr
    app_token: SecretStr
    api: str = API

    async def call(
        self, method: str, fields: Mapping[str, str], *, as_app: bool = False
    ) -> dict[str, Any]:
        """Call a method and return its response.

        Raises:
            DeliveryFailed: there is no response, or it is a refusal; `SlackRefusal` names its code.
        """
        token = self.app_token if as_app else self.bot_token
        base = self.api.rstrip("/")
        try:
            response = await self.web().request(
                "POST",
                f"{base}/{method}",
                headers={
                    "Authorization": f"Bearer {token.get_secret_value()}",
                    "Content-Type": "application/x-www-form-urlencoded",
                },
                body=urlencode(fields).encode(),
                timeout_s=_TIMEOUT_S,
                max_bytes=_MAX_ANSWER,
                trusted=base if base != API else None,
            )
        except ToolFailed as error:
            raise unreachable(_SERVICE, error) from None
        if response.status == 429:
            raise SlackRefusal("ratelimited", retry_after(response, datetime.now(UTC)))
        try:
            answer = orjson.loads(response.body)
        except orjson.JSONDecodeError:
            answer = None
        if not isinstance(answer, dict):
            raise DeliveryFailed(f"{_SERVICE} answered {response.status}")
        if answer.get("ok") is not True:
            raise SlackRefusal(str(answer.get("error", "unknown_error")))
        return answer


class SlackRefusal(DeliveryFailed):
    """Slack refused a request.

    Attributes:
        code: Slack's error code.
    """

    def __init__(self, code: str, retry_after_s: float | None = None) -> None:
        super().__init__(
            f"{_SERVICE} answered {code[:80]}",
            permanent=code not in _LATER,
            gone=code in _GONE,
            retry_after_s=retry_after_s,
        )
        self.code = code


class Slack:
    """`Transport` to Slack. An address is the ID of a channel or of a user.

    Each message carries its ID and that of its request as metadata. Before it is sent, the newest
    messages of the channel are searched for it, so that a message whose response was lost is not
    sent twice.
    """

    def __init__(self, app: SlackApp) -> None:
        self._app = app
        self._channels: dict[str, str] = {}

    async def send(self, address: str, message: Notification) -> str | None:
        """See the Protocol. The reference is `channel:timestamp`."""
        channel = await self._channel(address)
        sent = await self._find(channel, "id", message.id)
        if sent is None:
            payload = {"id": message.id, "item": message.item_id}
            metadata = {"event_type": _EVENT_TYPE, "event_payload": payload}
            posted = await self._app.call(
                "chat.postMessage",
                {
                    "channel": channel,
                    **_content(message),
                    "metadata": orjson.dumps(metadata).decode(),
                    "unfurl_links": "false",
                    "unfurl_media": "false",
                },
            )
            sent = str(posted["ts"])
        return f"{channel}:{sent}"

    async def update(self, address: str, reference: str | None, message: Notification) -> None:
        """See the Protocol. A message that was deleted needs no change."""
        if reference is None:
            channel = await self._channel(address)
            sent = await self._find(channel, "item", message.item_id)
        else:
            channel, _, sent = reference.partition(":")
        if not sent:
            return
        try:
            await self._app.call(
                "chat.update", {"channel": channel, "ts": sent, **_content(message)}
            )
        except SlackRefusal as refusal:
            if refusal.code != "message_not_found":
                raise

    async def _channel(self, address: str) -> str:
        """Return the channel of an address; for a user, the conversation with the app."""
        if not address.startswith(("U", "W")):
            return address
        if address not in self._channels:
            opened = await self._app.call("conversations.open", {"users": address})
            self._channels[address] = str(opened["channel"]["id"])
        return self._channels[address]

    async def _find(self, channel: str, key: str, value: str) -> str | None:
        """Return the timestamp of the newest message with this metadata."""
        found = await self._app.call(
            "conversations.history",
            {"channel": channel, "limit": str(_RECENT), "include_all_metadata": "true"},
        )
        for posted in found.get("messages", ()):
            metadata = posted.get("metadata") or {}
            if (
                metadata.get("event_type") == _EVENT_TYPE
                and (metadata.get("event_payload") or {}).get(key) == value
            ):
                return str(posted["ts"])
        return None


class SlackListener:
    """Receives pressed buttons and link codes over Socket Mode.

    Each envelope is acknowledged before anything else happens, because Slack repeats it after three
    seconds.

    Attributes:
        state: whether it is connected, and the last error.
    """

    def __init__(
        self, app: SlackApp, answers: ChatAnswers, *, backoff: Backoff | None = None
    ) -> None:
        self.state = ListenerState(_SERVICE)
        self._app = app
        self._answers = answers
        self._backoff = backoff or Backoff()
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Listen until cancelled; never raises anything else."""
        try:
            await listen(self.state, self._receive, self._backoff)
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _receive(self) -> None:
        # Slack ends each connection after some hours, with a notice: another one is opened then.
        while await self._session():
            pass

    async def _session(self) -> bool:
        """Use one connection; return whether Slack asked for another one."""
        try:
            opened = await self._app.call("apps.connections.open", {}, as_app=True)
        except DeliveryFailed as failure:
            raise ListenerFailed(failure.reason, retry_after_s=failure.retry_after_s) from None
        url = str(opened.get("url", ""))
        if not url.startswith("wss://") and self._app.api == API:
            raise ListenerFailed("Slack named an address without encryption")
        try:
            # The address contains a ticket, so errors of the connection are not shown.
            async with connect(
                url, open_timeout=_OPEN_S, ping_interval=_PING_S, ping_timeout=_PING_S, proxy=None
            ) as socket:
                return await self._read(socket)
        except (OSError, TimeoutError, WebSocketException) as error:
            raise ListenerFailed(f"the connection failed ({type(error).__name__})") from None

    async def _read(self, socket: ClientConnection) -> bool:
        async for raw in socket:
            message = _parsed(raw)
            if message.get("type") == "hello":
                self.state.up()
            elif message.get("type") == "disconnect":
                if message.get("reason") == "link_disabled":
                    raise ListenerFailed("Socket Mode is disabled for this Slack app")
                return True
            elif (request := SocketModeRequest.from_dict(message)) is not None:
                response = SocketModeResponse(envelope_id=request.envelope_id)
                await socket.send(orjson.dumps(response.to_dict()).decode())
                task = asyncio.create_task(self._guarded(request))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
        raise ListenerFailed("the connection was closed")

    async def _guarded(self, request: SocketModeRequest) -> None:
        with ErrorBoundary() as held:
            await self._handle(request)
        if held.error is not None:
            self.state.error = f"an answer failed: {type(held.error).__name__}"

    async def _handle(self, request: SocketModeRequest) -> None:
        payload = request.payload if isinstance(request.payload, dict) else {}
        match request.type:
            case "interactive" if payload.get("type") == "block_actions":
                await self._pressed(payload)
            case "slash_commands":
                place = _Place(payload["team_id"], payload["user_id"], payload["channel_id"])
                text = str(payload.get("text", ""))
                code = link_code_in(text) or link_code_in(f"link {text}")
                await self._link(place, code)
            case "events_api":
                event = payload.get("event") or {}
                code = link_code_in(str(event.get("text", "")))
                # In a channel, others could use the code first.
                if event.get("type") == "message" and event.get("channel_type") == "im" and code:
                    place = _Place(payload["team_id"], event["user"], event["channel"])
                    await self._link(place, code)

    async def _pressed(self, payload: Mapping[str, Any]) -> None:
        user = payload["user"]
        team = user.get("team_id") or payload["team"]["id"]
        channel = (payload.get("channel") or {}).get("id") or payload["container"]["channel_id"]
        place = _Place(team, user["id"], channel)
        for action in payload.get("actions", ()):
            if action.get("action_id") not in (_ALLOW, _DENY):
                continue
            text = _FAILED
            try:
                capability = str(action.get("value", ""))
                text = await self._answers.answer("slack", place.sender, capability)
            finally:
                await self._show(place, text)

    async def _link(self, place: _Place, sent: str | None) -> None:
        text = "Send `link` and the code that Tollgate shows in the inbox."
        if sent is not None:
            text = await self._answers.link("slack", place.sender, sent)
        await self._show(place, text)

    async def _show(self, place: _Place, text: str) -> None:
        """Show a text to one person; the answer has taken effect whether it is seen or not."""
        fields = {"channel": place.channel, "user": place.user, "text": _escaped(text)}
        with suppress(DeliveryFailed):
            await self._app.call("chat.postEphemeral", fields)


@dataclass(frozen=True, slots=True)
class _Place:
    """Account and channel of an interaction."""

    team: str
    user: str
    channel: str

    @property
    def sender(self) -> str:
        """Account for links: IDs of users are unique within their workspace."""
        return f"{self.team}:{self.user}"


def _parsed(raw: str | bytes) -> dict[str, Any]:
    try:
        message = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return {}
    return message if isinstance(message, dict) else {}


def _content(message: Notification) -> dict[str, str]:
    """Return text and blocks. Plain text objects keep markup and mentions of a call inactive."""
    parts = [part for part in (message.subject, message.body) if part]
    sections = [
        SectionBlock(text=PlainTextObject(text=truncate(part, _MAX_SECTION, "…"), emoji=False))
        for part in parts
    ]
    buttons = [
        ButtonElement(
            text=truncate(action.label, _MAX_LABEL, "…"),
            action_id=_ALLOW if action.kind == "allow" else _DENY,
            value=action.capability,
            style="primary" if action.kind == "allow" else "danger",
        )
        for action in message.actions
    ]
    if message.link.startswith(("https://", "http://")) and len(message.link) <= _MAX_URL:
        buttons.append(ButtonElement(text="Open in Tollgate", action_id=_OPEN, url=message.link))
    blocks = [*sections, *([ActionsBlock(elements=[*buttons])] if buttons else [])]
    try:
        packed = orjson.dumps([block.to_dict() for block in blocks]).decode()
    except SlackObjectFormationError as error:
        raise DeliveryFailed(f"{_SERVICE}: {error}", permanent=True) from None
    fallback = truncate("\n".join(parts[:1]), _MAX_FALLBACK, "…")
    return {"text": _escaped(fallback), "blocks": packed}


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


class SlackSettings(KindSettings):
    """Attributes: `api`: address of the Web API, for tests and gateways."""

    api: WebUrlText = API


class SlackSecrets(KindSecrets):
    """Attributes: `bot_token` (`xoxb-…`), and `app_token` (`xapp-…`) for Socket Mode."""

    bot_token: SecretStr = Field(min_length=10, max_length=500)
    app_token: SecretStr = Field(min_length=10, max_length=500)


def _app(settings: SlackSettings, secrets: SlackSecrets, services: TransportServices) -> SlackApp:
    return SlackApp(services.web, secrets.bot_token, secrets.app_token, settings.api)


def _transport(
    settings: SlackSettings, secrets: SlackSecrets, services: TransportServices
) -> Slack:
    return Slack(_app(settings, secrets, services))


def _listener(
    settings: SlackSettings,
    secrets: SlackSecrets,
    services: TransportServices,
    answers: ChatAnswers,
) -> SlackListener:
    return SlackListener(_app(settings, secrets, services), answers)


def _member_id(address: str) -> str:
    if not re.fullmatch(r"[CDGUW][A-Z0-9]{1,30}", address):
        raise FieldError(
            "must be the ID of a channel or a member, such as C0123ABCD", code="bad_chat_id"
        )
    return address


SLACK = TransportKind(
    name="slack",
    settings=SlackSettings,
    secrets=SlackSecrets,
    make=_transport,
    origin=lambda settings, _: origin_of(settings.api),
    address=_member_id,
    needs_address=True,
    answers=True,
    listener=_listener,
)
