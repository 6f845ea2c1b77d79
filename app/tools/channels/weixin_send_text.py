"""`weixin_send_text`: sends a text to a group in the desktop's WeChat."""

from __future__ import annotations

from dataclasses import asdict

from pydantic import Field

from app.config.channels import MAX_WAIT_S
from app.domain.channels import (
    CHANNEL_TEXTS,
    ChannelTexts,
    TextOutcome,
    TextWish,
    Watermark,
)
from app.toolkit.context import ToolContext
from app.toolkit.result import RawResult, ToolResult
from app.toolkit.returns import FLAG, TEXT, maybe, record
from app.toolkit.services import Services
from app.toolkit.tool import PermissionClass, SideEffectScope, ToolArgs, tool

_AROUND_S = 30
_TIMEOUT = "timeout"

WEIXIN_SEND_TEXT_RESULT = record(
    {
        "channel_id": TEXT,
        "target": maybe(TEXT),
        "watermark": maybe(TEXT),
        "verified": maybe(FLAG),
        "code": maybe(TEXT),
        "error": maybe(TEXT),
    },
    task_id=TEXT,
    status=TEXT,
)


class WeixinSendTextArgs(ToolArgs):
    text: str = Field(
        min_length=1, max_length=4000, pattern=r"\S", description="Text for the group."
    )
    channel_id: str | None = Field(
        default=None,
        min_length=1,
        max_length=128,
        description="ID of the channel; ignored if the conversation has a channel.",
    )
    target: str | None = Field(
        default=None,
        min_length=1,
        max_length=64,
        description="Name of the group, as allowed by the channel; optional if there is only one.",
    )
    watermark: Watermark | None = Field(
        default=None, description="How the text is marked; defaults to the channel's setting."
    )

    def wish(self) -> TextWish:
        """Return the arguments of the service."""
        return TextWish(self.text, self.channel_id, self.target, self.watermark)


def confirmation_reason(args: WeixinSendTextArgs, services: Services) -> str | None:
    """Return why the call needs approval: others see the text, and it cannot be undone."""
    texts = services.get(CHANNEL_TEXTS)
    return texts.confirmation_reason(args.wish()) if isinstance(texts, ChannelTexts) else None


@tool(
    category="微信桌面",
    toolset="weixin_desktop",
    permission=PermissionClass.EXTERNAL,
    side_effect=SideEffectScope.NETWORK,
    kind="other",
    routing_hint="main-process-proxy",
    timeout_s=MAX_WAIT_S + _AROUND_S,
    requires=(CHANNEL_TEXTS,),
    tags=("channel", "desktop", "weixin"),
    argument_aliases={"channelId": "channel_id", "group": "target", "message": "text"},
    asks=confirmation_reason,
    return_schema=WEIXIN_SEND_TEXT_RESULT,
)
async def weixin_send_text(args: WeixinSendTextArgs, ctx: ToolContext) -> ToolResult:
    """Send a text to a WeChat group through a desktop operator; waits until it is sent.

    Only channels and groups that an administrator allows. Returns the task, its status, and whether
    the text was verified before sending. If the outcome is unknown, ask the user before you repeat
    it: it may have been sent.
    """
    texts = ctx.services.require(CHANNEL_TEXTS, ChannelTexts)  # type: ignore[type-abstract]
    outcome = await texts.send(args.wish(), ctx)
    data = asdict(outcome)
    if outcome.status == "succeeded":
        return ToolResult.ok(
            data,
            text=f"Sent to {outcome.target!r} (task {outcome.task_id})",
            raw_result=RawResult("json", data),
        )
    error, code = _failure(outcome)
    return ToolResult.fail(error, code=code, data=data)


def _failure(outcome: TextOutcome) -> tuple[str, str]:
    """Return the sentence and code for a text not known to be sent."""
    if outcome.status == "expired":
        return "No desktop operator sent the text in time; it will not be sent", _TIMEOUT
    if outcome.status == "cancelled":
        return "The task was cancelled before the text was sent", "task_cancelled"
    if outcome.status == "running":
        return (
            "The time limit passed while a desktop operator was sending: the text may "
            "have been sent",
            "outcome_unknown",
        )
    reported = outcome.error or "the desktop operator gave no reason"
    return reported, outcome.code or "desktop_failed"
