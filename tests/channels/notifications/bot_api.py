"""Telegram's side of its Bot API, on loopback."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson

from tests.channels.notifications.chat_lab import Arrived, Reply, ScriptedService, until

TOKEN = "41:AAH-this-is-the-secret-of-the-bot"


class BotApi:
    """Telegram's side: chats, a queue of updates, refusals on request."""

    def __init__(self) -> None:
        self.service = ScriptedService(self._handle)
        self.updates: list[dict[str, Any]] = []
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.refusals: dict[str, list[Reply]] = {}
        self._number = 100
        self._arrived = asyncio.Event()

    async def _handle(self, arrived: Arrived) -> Reply:
        bot, _, method = arrived.path.removeprefix("/").partition("/")
        if bot != f"bot{TOKEN}":
            return self.refusal(401, "Unauthorized")
        fields = orjson.loads(arrived.body)
        self.calls.append((method, fields))
        if self.refusals.get(method):
            return self.refusals[method].pop(0)
        if method == "getUpdates":
            return await self._updates(fields.get("offset", 0))
        self._number += 1
        result: Any = {"message_id": self._number, "chat": {"id": fields.get("chat_id")}}
        return Reply.json({"ok": True, "result": result})

    async def _updates(self, offset: int) -> Reply:
        """Wait for updates, as a long poll does; earlier ones are confirmed."""
        self.updates = [one for one in self.updates if one["update_id"] >= offset]
        while not self.updates:
            self._arrived.clear()
            await self._arrived.wait()
        return Reply.json({"ok": True, "result": self.updates})

    @staticmethod
    def refusal(code: int, description: str, **parameters: Any) -> Reply:
        body = {"ok": False, "error_code": code, "description": description}
        return Reply.json({**body, "parameters": parameters}, status=code)

    def of(self, method: str) -> list[dict[str, Any]]:
        return [fields for name, fields in self.calls if name == method]

    async def press(self, sender: int, data: str, number: int = 1) -> None:
        query = {"id": f"q{number}", "from": {"id": sender}, "data": data}
        await self.update(number, callback_query=query)

    async def say(self, sender: int, text: str, number: int = 1, kind: str = "private") -> None:
        said = {"message_id": 1, "from": {"id": sender}, "chat": {"id": sender, "type": kind}}
        await self.update(number, message={**said, "text": text})

    async def update(self, number: int, **content: Any) -> None:
        self.updates.append({"update_id": number, **content})
        self._arrived.set()

    async def shown(self, count: int = 1) -> list[str]:
        """Return the texts that pressing buttons has shown."""
        await until(lambda: len(self.of("answerCallbackQuery")) >= count)
        return [fields["text"] for fields in self.of("answerCallbackQuery")]

    async def texts(self, count: int = 1) -> list[str]:
        """Return the texts that were sent to chats."""
        await until(lambda: len(self.of("sendMessage")) >= count)
        return [fields["text"] for fields in self.of("sendMessage")]

    async def edited(self) -> dict[str, Any]:
        """Return the newest edit of a message, once there is one."""
        await until(lambda: bool(self.of("editMessageText")))
        return self.of("editMessageText")[-1]
