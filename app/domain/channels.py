"""Texts to channels, and their service."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from app.toolkit.context import ToolContext

CHANNEL_TEXTS = "channel_texts"

Watermark = Literal["suffix", "zero-width", "none"]
TaskStatus = Literal["queued", "claimed", "running", "succeeded", "failed", "expired", "cancelled"]


@dataclass(frozen=True, slots=True)
class TextWish:
    """Text for a group.

    Attributes:
        channel_id: channel from the caller; the calling context's channel takes precedence.
        target: group; None for the only one allowed by the channel.
        watermark: None for the channel's default.
    """

    text: str
    channel_id: str | None = None
    target: str | None = None
    watermark: Watermark | None = None


@dataclass(frozen=True, slots=True)
class TextOutcome:
    """Result of sending a text.

    Attributes:
        code: why it was not sent, for programs; `error` for people.
        verified: the operator read the text back before sending it.
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
    """Service `CHANNEL_TEXTS`."""

    def confirmation_reason(self, wish: TextWish) -> str | None:
        """Return why the call needs approval, or None if the channel needs none."""

    async def send(self, wish: TextWish, ctx: ToolContext) -> TextOutcome:
        """Send a text through a desktop operator, and wait for the result.

        Raises:
            ToolFailed: the channel or group is not allowed; `code` is the reason:
                `channel_required`, `channel_not_found`, `channel_off`, `replies_off`,
                `agent_not_allowed`, `target_required`, `target_not_allowed`, `watermark_fixed`,
                `text_not_sendable`, `confirmation_required`, `desktop_busy`.
            RateLimited: the channel has reached its limit per minute.
            StorageUnavailable: the task cannot be stored, so nothing is sent.
        """
