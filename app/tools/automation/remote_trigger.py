"""`remote_trigger`: sends one request to another system."""

from __future__ import annotations

from pydantic import Field, model_validator

from app.core.field_problems import FieldError
from app.domain.outbound_requests import (
    BODILESS,
    TRIGGERS,
    Method,
    OutboundRequestSender,
    RequestInput,
)
from app.domain.web import WEB_ACCESS
from app.toolkit.context import ToolContext
from app.toolkit.result import RawResult, ToolResult
from app.toolkit.services import Services
from app.toolkit.tool import Alias, PermissionClass, SideEffectScope, ToolArgs, tool
from app.tools.automation.returns import REMOTE_TRIGGER_RESULT
from app.tools.untrusted import untrusted


class RemoteTriggerArgs(ToolArgs):
    url: str | None = Field(
        default=None,
        min_length=1,
        max_length=8000,
        description="Target address; must be allowed by the operator.",
    )
    name: str | None = Field(
        default=None,
        min_length=1,
        max_length=64,
        description="Instead of url: a request stored by the operator.",
    )
    method: Method = Field(default="GET", description="Only with url.")
    headers: dict[str, str] = Field(
        default_factory=dict, max_length=32, description="Only with url; no secrets."
    )
    body: str | None = Field(default=None, max_length=100_000, description="Text, such as JSON.")

    @model_validator(mode="after")
    def _is_one_request(self) -> RemoteTriggerArgs:
        if (self.url is None) == (self.name is None):
            raise FieldError("set either url or name", code="one_of", needed="url, name")
        if self.name is not None and self.model_fields_set & {"method", "headers"}:
            raise FieldError(
                "a named request has its own method and headers",
                code="not_with",
                given="method, headers",
                needed="name",
            )
        if self.url is not None and self.body is not None and self.method in BODILESS:
            raise FieldError(f"{self.method} cannot have a body; use POST", code="no_body")
        return self


def confirmation_reason(args: RemoteTriggerArgs, services: Services) -> str | None:
    """Return why the call needs approval."""
    desk = services.get(TRIGGERS)
    if isinstance(desk, OutboundRequestSender):
        return desk.confirmation_reason(args.name)
    return "it sends a request to another system"


@tool(
    category="automation",
    toolset="automation",
    permission=PermissionClass.EXTERNAL,
    side_effect=SideEffectScope.NETWORK,
    kind="fetch",
    requires=(TRIGGERS, WEB_ACCESS),
    asks=confirmation_reason,
    routing_hint="main-process-proxy",
    # The request has its own timeout of 30 seconds, which is reported.
    timeout_s=40,
    tags=("http", "webhook"),
    argument_aliases={"trigger": "name", "data": "body"},
    aliases=(
        Alias("RemoteTriggerTool", families=("jarvis",)),
        Alias("RemoteTrigger", families=("claude",)),
    ),
    return_schema=REMOTE_TRIGGER_RESULT,
)
async def remote_trigger(args: RemoteTriggerArgs, ctx: ToolContext) -> ToolResult:
    """Send one HTTP request to an allowed address, or a stored request by name.

    Use it to trigger external systems, not to read pages. Times out after 30 s and follows no
    redirects. Returns the status and up to 8192 bytes of the body; fails unless the status is 2xx.
    """
    desk = ctx.services.require(TRIGGERS, OutboundRequestSender)  # type: ignore[type-abstract]
    wanted = RequestInput(args.url, args.name, args.method, args.headers, args.body)
    answered = await desk.send(wanted, agent_id=ctx.agent_id)
    success = 200 <= answered.status < 300
    data = {
        "url": answered.url,
        "method": answered.method,
        "status_code": answered.status,
        "body": answered.body,
        "success": success,
    }
    message = f"{answered.method} {answered.url} answered {answered.status}"
    text = f"{message} without a body"
    if answered.body:
        cut = ", truncated" if answered.cut else ""
        text = f"{message}{cut}:\n{untrusted(answered.body, answered.url)}"
    raw = RawResult("json", data)
    if success:
        return ToolResult.ok(data, text=text, raw_result=raw)
    return ToolResult.fail(message, code="http_status", data=data, text=text, raw_result=raw)
