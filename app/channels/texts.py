"""Texts of agents for groups: permissions and watermarks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import orjson

from app.channels.config import WeixinReply
from app.channels.desktop import DesktopOpService, DesktopTaskRequest, new_task_id
from app.channels.operator_messages import OperatorProgress
from app.channels.store import Channel, ChannelStore
from app.channels.task_rows import DesktopTask
from app.config.channels import ChannelSettings
from app.core.errors import ToolFailed
from app.core.text_checks import text_problem
from app.domain.channels import TextOutcome, TextWish, Watermark
from app.toolkit.context import ToolContext

APP_ID, ACTION = "weixin", "send-text"
_ASKS = "Others see it under your name, and it cannot be undone"
# The call ends before its own deadline, so that the task is ended regularly.
_BEFORE_DEADLINE_S = 1.0

# Neither affects letters, unlike the joiners needed by some scripts and emoji.
_BITS = ("\u200b", "\u2060")
_FRAME = "\u2063"
_DIGITS = 24
_WIDTH = _DIGITS * 4
_MARK = re.compile(f"{_FRAME}([{''.join(_BITS)}]{{{_WIDTH}}}){_FRAME}")
_ID = re.compile(rf"[a-z]+_([0-9a-f]{{{_DIGITS}}})\Z")


class WeixinTexts:
    """Service `CHANNEL_TEXTS`."""

    def __init__(
        self, channels: ChannelStore, desktop: DesktopOpService, settings: ChannelSettings
    ) -> None:
        self._channels = channels
        self._desktop = desktop
        self._settings = settings

    def confirmation_reason(self, wish: TextWish) -> str | None:
        """See the port.

        The channel of the context is not known here. A request without a channel needs approval
        unless all sending channels send without it; `send` checks the real one again. A text that
        no channel would send needs no approval.
        """
        if wish.channel_id is None:
            meant = self._channels.list_all()
        else:
            found = self._channels.find(wish.channel_id)
            meant = [] if found is None else [found]
        sending = [_reply(item) for item in meant if item.enabled and _reply(item).enabled]
        return None if all(reply.auto_reply for reply in sending) else _ASKS

    async def send(self, wish: TextWish, ctx: ToolContext) -> TextOutcome:
        """See the port."""
        channel = self._channel(wish, ctx)
        reply = _reply(channel)
        if reply.agents is not None and ctx.agent_id not in reply.agents:
            raise ToolFailed(
                f"Channel {channel.id!r} is not available to this agent", code="agent_not_allowed"
            )
        if not reply.auto_reply and self.confirmation_reason(wish) is None:
            raise ToolFailed(
                f"Texts of channel {channel.id!r} require approval: name it as channel_id",
                code="confirmation_required",
            )
        order = self._order(wish, ctx, channel)

        async def report(progress: OperatorProgress) -> None:
            await ctx.progress(progress.stage, progress.message)

        task = await self._desktop.run_and_wait(order, report=report, wait_s=self._wait_s(ctx))
        return _outcome(task)

    def _channel(self, wish: TextWish, ctx: ToolContext) -> Channel:
        """Return the channel of the context, or else the named one, if it may send."""
        channel_id = ctx.business.get("channelId") or wish.channel_id
        if not isinstance(channel_id, str):
            raise ToolFailed(
                "The conversation has no channel: set channel_id",
                code="channel_required",
            )
        channel = self._channels.find(channel_id)
        if channel is None:
            raise ToolFailed(f"Channel {channel_id!r} not found", code="channel_not_found")
        if not channel.enabled:
            raise ToolFailed(f"Channel {channel_id!r} is disabled", code="channel_off")
        if not _reply(channel).enabled:
            raise ToolFailed(
                f"Channel {channel_id!r} does not send: its config.weixinReply.enabled is not true",
                code="replies_off",
            )
        return channel

    def _order(self, wish: TextWish, ctx: ToolContext, channel: Channel) -> DesktopTaskRequest:
        reply, task_id = _reply(channel), new_task_id()
        problem = text_problem(wish.text)
        if problem is not None:
            raise ToolFailed(f"Cannot send the text: {problem}", code="text_not_sendable")
        how = wish.watermark or reply.watermark
        if reply.force_watermark and how != reply.watermark:
            raise ToolFailed(
                f"Texts of this channel are marked with {reply.watermark!r}: omit watermark",
                code="watermark_fixed",
            )
        return DesktopTaskRequest(
            task_id=task_id,
            channel_id=channel.id,
            model_channel_id=model_channel_of(ctx),
            app_id=APP_ID,
            action_type=ACTION,
            target=_target(wish, reply),
            text=marked(wish.text, how, task_id, reply.suffix),
            watermark=how,
            per_minute=reply.per_minute or self._settings.per_minute,
            operation_id=ctx.operation_id,
            agent_id=ctx.agent_id,
            user_id=ctx.user_id,
            session_id=ctx.session_id,
            run_id=ctx.run_id,
        )

    def _wait_s(self, ctx: ToolContext) -> float:
        if ctx.timeout_s is None:
            return self._settings.wait_s
        return max(0.1, min(self._settings.wait_s, ctx.timeout_s - _BEFORE_DEADLINE_S))


def model_channel_of(ctx: ToolContext) -> str | None:
    """Return the model channel of the running agent: from the context, never from an argument."""
    agent = ctx.business.get("currentAgent")
    found = agent.get("modelChannelId") if isinstance(agent, Mapping) else None
    found = found or ctx.model.get("modelChannelId")
    return found if isinstance(found, str) else None


def _target(wish: TextWish, reply: WeixinReply) -> str:
    """Return the group in the channel's spelling."""
    if wish.target is None:
        if len(reply.targets) == 1:
            return reply.targets[0]
        raise ToolFailed("Set target to a group; the channel has several", code="target_required")
    if wish.target not in reply.targets:
        raise ToolFailed(
            "The channel has no allowed group with exactly this name", code="target_not_allowed"
        )
    return wish.target


def _reply(channel: Channel) -> WeixinReply:
    return channel.config.weixin_reply


def _outcome(task: DesktopTask) -> TextOutcome:
    result: dict[str, Any] = orjson.loads(task.result) if task.result else {}
    return TextOutcome(
        task_id=task.id,
        status=task.status,
        channel_id=task.channel_id,
        target=task.target,
        watermark=task.watermark,
        code=task.code,
        error=task.error,
        verified=bool(result.get("verified")),
    )


def marked(text: str, how: Watermark, task_id: str, suffix: str) -> str:
    """Return the text to send.

    `suffix` adds a line below it, `zero-width` appends the hidden task ID, `none` leaves it
    unchanged. A hidden mark already in the text is removed, because it would name another task.
    """
    text = _MARK.sub("", text)
    if how == "suffix":
        return f"{text}\n{suffix}"
    if how == "zero-width":
        # Characters at its end could form another mark with the beginning of ours.
        return text.rstrip("".join((*_BITS, _FRAME))) + _hidden(task_id)
    return text


def hidden_mark(text: str) -> str | None:
    """Return the digits of the last ID hidden in a text; None without one."""
    found = _MARK.findall(text)
    if not found:
        return None
    value = int("".join("1" if bit == _BITS[1] else "0" for bit in found[-1]), 2)
    return f"{value:0{_DIGITS}x}"


def _hidden(task_id: str) -> str:
    found = _ID.match(task_id)
    if found is None:
        raise ValueError(f"ID {task_id!r} cannot be encoded in a watermark")
    bits = f"{int(found[1], 16):0{_WIDTH}b}"
    return _FRAME + "".join(_BITS[int(bit)] for bit in bits) + _FRAME
