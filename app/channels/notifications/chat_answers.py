"""Answers that arrive in chats, and the links between chat accounts and users.

A chat account is linked by a code that its user creates while signed in and sends from the chat.
Codes are random, expire after ten minutes, work once, and are stored as digests.
"""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256
from typing import Literal, Protocol

from app.core.clock import Clock, isoformat
from app.core.errors import NotFound
from app.core.ids import new_id
from app.db.writer import DatabaseWriter, Transaction
from app.governance.audit.log import AuditEntry, AuditLog

ChatKind = Literal["slack", "telegram"]
CODE_LIFETIME = timedelta(minutes=10)
_CODE_BYTES = 15
_MAX_CODES = 5

_ADD_CODE = (
    "INSERT INTO notification_link_codes (sha256, user_id, token_id, created_at, expires_at)"
    " VALUES (?, ?, ?, ?, ?)"
)
_FORGET_CODES = "DELETE FROM notification_link_codes WHERE expires_at <= ?"
# Someone who asks again and again keeps the newest codes.
_LIMIT_CODES = (
    "DELETE FROM notification_link_codes WHERE user_id = ? AND sha256 NOT IN (SELECT sha256 FROM"
    " notification_link_codes WHERE user_id = ? ORDER BY expires_at DESC LIMIT ?)"
)
_USE_CODE = (
    "SELECT user_id, token_id FROM notification_link_codes WHERE sha256 = ? AND expires_at > ?"
)
_DROP_CODE = "DELETE FROM notification_link_codes WHERE sha256 = ?"
_COLUMNS = "id, channel, sender, user_id, token_id, created_at"
_ADD = f"INSERT INTO notification_links ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)"  # noqa: S608
_FIND = f"SELECT {_COLUMNS} FROM notification_links WHERE channel = ? AND sender = ?"  # noqa: S608
_OF_USER = (
    f"SELECT {_COLUMNS} FROM notification_links"  # noqa: S608
    " WHERE user_id = ? ORDER BY created_at, id"
)
_DROP = "DELETE FROM notification_links WHERE id = ?"

_COMMAND = re.compile(r"\s*/?(?:link|start)\s+([A-Za-z0-9_-]{8,64})\s*")


class ChatAnswers(Protocol):
    """What listeners call. Every method returns the text to show to the sender."""

    async def answer(self, kind: ChatKind, sender: str, capability: str) -> str:
        """Use a capability on behalf of a chat account.

        The implementation checks that the account is linked, and that the capability is known,
        unused, in time and issued to the linked user.
        """

    async def link(self, kind: ChatKind, sender: str, code: str) -> str:
        """Link a chat account to the user who created the code."""


@dataclass(frozen=True, slots=True)
class ChatLink:
    """Chat account of a user.

    Attributes:
        sender: ID of the account at the chat service.
        token_id: token of the session that created the code; its rights limit the answers.
    """

    id: str
    channel: ChatKind
    sender: str
    user_id: str
    token_id: str | None
    created_at: str


@dataclass(frozen=True, slots=True)
class LinkCode:
    """Code to send from a chat. It is shown once."""

    text: str
    expires_at: str


class ChatLinks:
    """Creates codes, links chat accounts with them, and finds and ends links."""

    def __init__(self, db: DatabaseWriter, clock: Clock, audit: AuditLog) -> None:
        self._db = db
        self._clock = clock
        self._audit = audit

    async def create_code(self, user_id: str, token_id: str | None) -> LinkCode:
        """Create a code for a signed-in user."""
        text = secrets.token_urlsafe(_CODE_BYTES)
        now = self._clock.now()
        moment, end = isoformat(now), isoformat(now + CODE_LIFETIME)

        def add(transaction: Transaction) -> None:
            transaction.execute(_FORGET_CODES, (moment,))
            transaction.execute(_ADD_CODE, (_digest(text), user_id, token_id, moment, end))
            transaction.execute(_LIMIT_CODES, (user_id, user_id, _MAX_CODES))
            self._audit.within(
                transaction,
                AuditEntry("notification.link_code", actor=user_id, detail={"token_id": token_id}),
            )

        await self._db.transact(add)
        return LinkCode(text, end)

    async def redeem(self, channel: ChatKind, sender: str, code: str) -> ChatLink | None:
        """Link a chat account, replacing its former link; None if the code is not valid."""
        moment = isoformat(self._clock.now())

        def use(transaction: Transaction) -> ChatLink | None:
            found = transaction.fetch(_USE_CODE, (_digest(code), moment))
            if not found:
                return None
            user_id, token_id = found[0]
            transaction.execute(_DROP_CODE, (_digest(code),))
            for former in transaction.fetch(_FIND, (channel, sender)):
                self._drop(transaction, ChatLink(*former), user_id)
            made = ChatLink(new_id("lnk"), channel, sender, user_id, token_id, moment)
            row = (made.id, channel, sender, user_id, token_id, moment)
            transaction.execute(_ADD, row)
            self._audit.within(
                transaction,
                AuditEntry("notification.link", actor=user_id, subject=made.id, after=_shown(made)),
            )
            return made

        return await self._db.transact(use)

    async def find(self, channel: ChatKind, sender: str) -> ChatLink | None:
        """Return the link of a chat account."""
        rows = await self._db.transact(
            lambda transaction: transaction.fetch(_FIND, (channel, sender))
        )
        return ChatLink(*rows[0]) if rows else None

    async def of_user(self, user_id: str) -> list[ChatLink]:
        """Return the linked chat accounts of a user, oldest first."""
        rows = await self._db.transact(lambda transaction: transaction.fetch(_OF_USER, (user_id,)))
        return [ChatLink(*row) for row in rows]

    async def remove(self, link_id: str, *, user_id: str) -> ChatLink:
        """End a link of a user and return it.

        Raises:
            NotFound: the user has no such link.
        """

        def drop(transaction: Transaction) -> ChatLink:
            for row in transaction.fetch(_OF_USER, (user_id,)):
                link = ChatLink(*row)
                if link.id == link_id:
                    self._drop(transaction, link, user_id)
                    return link
            raise NotFound(f"Chat account {link_id!r} not found", link_id=link_id)

        return await self._db.transact(drop)

    def _drop(self, transaction: Transaction, link: ChatLink, actor: str) -> None:
        transaction.execute(_DROP, (link.id,))
        self._audit.within(
            transaction,
            AuditEntry("notification.unlink", actor=actor, subject=link.id, before=_shown(link)),
        )


def link_code_in(text: str) -> str | None:
    """Return the code of a message such as `/link CODE`, `link CODE` or `/start CODE`."""
    found = _COMMAND.fullmatch(text)
    return None if found is None else found[1]


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def _shown(link: ChatLink) -> dict[str, str | None]:
    return {
        "channel": link.channel,
        "sender": link.sender,
        "user_id": link.user_id,
        "token_id": link.token_id,
    }
