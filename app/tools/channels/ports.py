"""What tools need of the room that keeps channels, as a Protocol; the composition binds it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from app.toolkit.context import ToolContext

CHANNEL_TEXTS = "channel_texts"

Watermark = Literal["suffix", "zero-width", "none"]
TaskStatus = Literal["queued", "claimed", "running", "succeeded", "failed", "expired", "cancelled"]


@dataclass(frozen=True, slots=True)
class TextWish:
    """A text for a group.

    Attributes:
        channel_id: what the caller named; the channel of the calling context goes before it.
        target: the group; None for the only one that the channel allows.
        watermark: None for the channel's own.
    """

    text: str
    channel_id: str | None = None
    target: str | None = None
    watermark: Watermark | None = None


@dataclass(frozen=True, slots=True)
class TextOutcome:
    """What became of a text.

    Attributes:
        code: why it was not sent, for a machine; `error` for people.
        verified: the operator has read the text back before it was sent.
    """

    task_id: str
    status: TaskStatus
    channel_id: str
    target: str
    watermark: Watermark
    code: str | None = None
    error: str | None = None
    verified: bool = False


@runtime_checkable
class ChannelTexts(Protocol):
    """The service `CHANNEL_TEXTS`."""

    def confirmation_reason(self, wish: TextWish) -> str | None:
        """Why a person must agree first; None where the channel's operator has agreed for all."""

    async def send(self, wish: TextWish, ctx: ToolContext) -> TextOutcome:
        """Have a desktop operator send a text, and wait for what becomes of it.

        Raises:
            ToolFailed: the channel or the group may not be used; `code` says why:
                `channel_required`, `channel_not_found`, `channel_off`, `replies_off`,
                `agent_not_allowed`, `target_required`, `target_not_allowed`,
                `watermark_fixed`, `text_not_sendable`, `confirmation_required`, `desktop_busy`.
            RateLimited: the channel has sent too much within a minute.
            StorageUnavailable: the task cannot be stored, so nothing is sent.
        """
