"""Telegram without a public address: the Bot API over HTTP, with `getUpdates` for answers."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from pydantic import BaseModel, Field, SecretStr, ValidationError

from app.channels.notifications.chat_answers import ChatAnswers, link_code_in
from app.channels.notifications.http_failures import unreachable
from app.channels.notifications.kinds import (
    KindSecrets,
    KindSettings,
    TransportKind,
    TransportServices,
    WebUrlText,
    origin_of,
)
from app.channels.notifications.listener import Backoff, ListenerFailed, ListenerState, listen
from app.channels.notifications.offsets import OffsetStore
from app.channels.notifications.transport import DeliveryFailed, Notification
from app.core.error_boundary import ErrorBoundary
from app.core.errors import ToolFailed
from app.core.field_problems import FieldError
from app.core.text import truncate
from app.operations.web.protocol import WebAccess

API = "https://api.telegram.org"
MAX_TEXT, MAX_DATA, _MAX_LABEL, _MAX_TOAST = 4096, 64, 64, 200
_TIMEOUT_S, _MAX_ANSWER = 20.0, 4_000_000
_POLL_S = 50
_SERVICE = "Telegram"
_FAILED = "Something went wrong. Open the request in Tollgate."
_PRIVATELY = "Send the code in a private chat with this bot."
_GONE = ("blocked by the user", "chat not found", "user is deactivated", "bot was kicked")
_UNCHANGED = ("message is not modified", "message to edit not found")


class _Chat(BaseModel):
    id: int
    type: str = ""


class _Sender(BaseModel):
    id: int


class _Message(BaseModel):
    message_id: int
    chat: _Chat
    sender: _Sender | None = Field(default=None, alias="from")
    text: str = ""


class _Press(BaseModel):
    id: str
    sender: _Sender = Field(alias="from")
    data: str = ""
    message: _Message | None = None


class _Update(BaseModel):
    update_id: int
    message: _Message | None = None
    callback_query: _Press | None = None


class _Reply(BaseModel):
    """Envelope of every response of the Bot API."""

    ok: bool
    result: Any = None
    error_code: int = 0
    description: str = ""
    parameters: dict[str, Any] = Field(default_factory=dict)

    @property
    def retry_after_s(self) -> float | None:
        seconds = self.parameters.get("retry_after")
        return float(seconds) if isinstance(seconds, int | float) else None


@dataclass(frozen=True, slots=True)
class TelegramBot:
    """Requests of one bot. Neither errors nor logs contain its token.

    Attributes:
        web: returns the web.
        api: address of the Bot API; another one than Telegram's may be at any network address.
    """

    web: Callable[[], WebAccess]
    token: SecretStr
    api: str = API

    async def call(
        self, method: str, fields: Mapping[str, Any], *, timeout_s: float = _TIMEOUT_S
    ) -> _Reply:
        """Call a method; return its response, also a refusal.

        Raises:
            DeliveryFailed: there is no response of the Bot API.
        """
        base = self.api.rstrip("/")
        try:
            response = await self.web().request(
                "POST",
                f"{base}/bot{self.token.get_secret_value()}/{method}",
                headers={"Content-Type": "application/json"},
                body=orjson.dumps(dict(fields)),
                timeout_s=timeout_s,
                max_bytes=_MAX_ANSWER,
                trusted=base if base != API else None,
            )
            return _Reply.model_validate_json(response.body)
        except ToolFailed as error:
            raise unreachable(_SERVICE, error) from None
        except ValidationError:
            raise DeliveryFailed(f"{_SERVICE} answered {response.status}") from None


class Telegram:
    """`Transport` to Telegram. An address is the ID of a chat."""

    def __init__(self, bot: TelegramBot) -> None:
        self._bot = bot

    async def send(self, address: str, message: Notification) -> str | None:
        """See the Protocol. Telegram has no key for repeated messages: one whose response is lost
        is sent again.
        """
        fields = {"chat_id": address, **_content(message)}
        reply = await self._bot.call("sendMessage", fields)
        if not reply.ok:
            raise _refusal(reply)
        return str(reply.result["message_id"]) if isinstance(reply.result, dict) else None

    async def update(self, address: str, reference: str | None, message: Notification) -> None:
        """See the Protocol. A message that its reader has deleted needs no change."""
        if reference is None:
            return
        fields = {"chat_id": address, "message_id": int(reference), **_content(message)}
        reply = await self._bot.call("editMessageText", fields)
        if not reply.ok and not _says(reply, _UNCHANGED):
            raise _refusal(reply)


class TelegramListener:
    """Receives pressed buttons and link codes.

    Attributes:
        state: whether it is connected, and the last error.
    """

    def __init__(
        self,
        bot: TelegramBot,
        answers: ChatAnswers,
        offsets: OffsetStore,
        *,
        backoff: Backoff | None = None,
        poll_s: int = _POLL_S,
    ) -> None:
        self.state = ListenerState(_SERVICE)
        self._bot = bot
        self._answers = answers
        self._offsets = offsets
        self._backoff = backoff or Backoff()
        self._poll_s = poll_s

    async def run(self) -> None:
        """Listen until cancelled; never raises anything else."""
        await listen(self.state, self._receive, self._backoff)

    async def _receive(self) -> None:
        offset = await self._offsets.load()
        while True:
            for update in await self._updates(offset):
                with ErrorBoundary() as held:
                    await self._handle(update)
                if held.error is not None:
                    # The answer is not repeated: its sender sees that it had no effect.
                    self.state.error = f"an update failed: {type(held.error).__name__}"
                offset = update.update_id + 1
                await self._offsets.save(offset)

    async def _updates(self, offset: int | None) -> list[_Update]:
        fields: dict[str, Any] = {
            "timeout": self._poll_s,
            "allowed_updates": ["message", "callback_query"],
        }
        if offset is not None:
            fields["offset"] = offset
        try:
            reply = await self._bot.call("getUpdates", fields, timeout_s=self._poll_s + _TIMEOUT_S)
        except DeliveryFailed as failure:
            raise ListenerFailed(failure.reason) from None
        if not reply.ok:
            raise ListenerFailed(_why(reply), retry_after_s=reply.retry_after_s)
        self.state.up()
        return [_read(item) for item in reply.result or ()]

    async def _handle(self, update: _Update) -> None:
        if update.callback_query is not None:
            await self._pressed(update.callback_query)
        elif update.message is not None and update.message.sender is not None:
            await self._said(update.message, str(update.message.sender.id))

    async def _pressed(self, press: _Press) -> None:
        text = _FAILED
        try:
            text = await self._answers.answer("telegram", str(press.sender.id), press.data)
        finally:
            shown = {"text": truncate(text, _MAX_TOAST, "…"), "show_alert": True}
            await self._try("answerCallbackQuery", {"callback_query_id": press.id, **shown})

    async def _said(self, message: _Message, sender: str) -> None:
        code = link_code_in(message.text)
        if code is None:
            return
        # Others in a group could use the code first.
        private = message.chat.type == "private"
        text = await self._answers.link("telegram", sender, code) if private else _PRIVATELY
        await self._try("sendMessage", {"chat_id": message.chat.id, "text": text})

    async def _try(self, method: str, fields: Mapping[str, Any]) -> None:
        """Call a method that only shows something; a press may be too old to be answered."""
        try:
            await self._bot.call(method, fields)
        except DeliveryFailed:
            return


def _read(item: Any) -> _Update:
    """Return an update; of one that cannot be read, only its number."""
    try:
        return _Update.model_validate(item)
    except ValidationError:
        return _Update(update_id=item["update_id"])


def _content(message: Notification) -> dict[str, Any]:
    """Return the text and buttons of a message. Without `parse_mode`, nothing in it is markup."""
    parts = [part for part in (message.subject, message.body) if part]
    link = message.link
    text = truncate("\n\n".join(parts), MAX_TEXT - len(link) - 2, "…")
    return {
        "text": f"{text}\n\n{link}" if link else text,
        "link_preview_options": {"is_disabled": True},
        "reply_markup": {"inline_keyboard": [_buttons(message)] if message.actions else []},
    }


def _buttons(message: Notification) -> list[dict[str, str]]:
    if any(len(action.capability.encode()) > MAX_DATA for action in message.actions):
        raise DeliveryFailed(f"{_SERVICE}: a button is too long", permanent=True)
    return [
        {"text": truncate(action.label, _MAX_LABEL, "…"), "callback_data": action.capability}
        for action in message.actions
    ]


def _says(reply: _Reply, words: tuple[str, ...]) -> bool:
    return any(word in reply.description.lower() for word in words)


def _why(reply: _Reply) -> str:
    match reply.error_code:
        case 401 | 404:
            return f"{_SERVICE} does not accept the bot token"
        case 409:
            return "another program receives the answers of this bot, or it has a webhook"
        case 429:
            return f"{_SERVICE} limits the rate of requests"
    return f"{_SERVICE} answered {reply.error_code}"


def _refusal(reply: _Reply) -> DeliveryFailed:
    if _says(reply, _GONE):
        return DeliveryFailed(
            f"{_SERVICE}: the chat is not reachable for the bot", permanent=True, gone=True
        )
    later = reply.error_code == 429 or reply.error_code >= 500
    return DeliveryFailed(
        _why(reply), permanent=not later, retry_after_s=reply.retry_after_s if later else None
    )


class TelegramSettings(KindSettings):
    """Attributes: `api`: address of the Bot API, for a server of one's own."""

    api: WebUrlText = API


class TelegramSecrets(KindSecrets):
    """Attributes: `token` of the bot, from BotFather."""

    token: SecretStr = Field(min_length=10, max_length=200)


def _bot(
    settings: TelegramSettings, secrets: TelegramSecrets, services: TransportServices
) -> TelegramBot:
    return TelegramBot(services.web, secrets.token, settings.api)


def _transport(
    settings: TelegramSettings, secrets: TelegramSecrets, services: TransportServices
) -> Telegram:
    return Telegram(_bot(settings, secrets, services))


def _listener(
    settings: TelegramSettings,
    secrets: TelegramSecrets,
    services: TransportServices,
    answers: ChatAnswers,
) -> TelegramListener:
    bot = _bot(settings, secrets, services)
    # Another bot has a stream of its own.
    stream = f"telegram:{secrets.token.get_secret_value().partition(':')[0]}"
    return TelegramListener(bot, answers, services.offsets(stream))


def _chat_id(address: str) -> str:
    if not re.fullmatch(r"-?[0-9]{1,20}", address):
        raise FieldError("must be the ID of a chat, a number", code="bad_chat_id")
    return address


TELEGRAM = TransportKind(
    name="telegram",
    settings=TelegramSettings,
    secrets=TelegramSecrets,
    make=_transport,
    origin=lambda settings, _: origin_of(settings.api),
    address=_chat_id,
    needs_address=True,
    answers=True,
    listener=_listener,
)
