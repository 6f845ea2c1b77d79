"""One streamed model request, and the calls in its response."""

from __future__ import annotations

from contextlib import aclosing

from app.agents.message_stream import MessageStream
from app.agents.models.protocol import (
    Completed,
    ModelClient,
    ModelRequest,
    ModelTextDelta,
    ModelThinkingDelta,
)
from app.agents.sessions import Block
from app.core.errors import InvalidInput, ModelFailed
from app.core.text import clean
from app.execution.calls import CallRequest, parse_call


async def ask(model: ModelClient, request: ModelRequest, live: MessageStream) -> Completed:
    """Return the whole response, streamed to `live`, which the caller must close.

    Raises:
        ModelFailed: the provider failed, or its response ended early.
    """
    completed: Completed | None = None
    async with aclosing(model.stream(request)) as answer:
        async for event in answer:
            if isinstance(event, Completed):
                completed = event
            elif isinstance(event, ModelTextDelta):
                live.add("text_delta", event.text)
            elif isinstance(event, ModelThinkingDelta):
                live.add("thinking_delta", event.text)
            else:
                live.tool_input(event.tool_use_id, event.name, event.partial_json)
    if completed is None:
        raise ModelFailed("The model's answer ended early", provider_code="stream_cut")
    return completed


def call_of(block: Block) -> CallRequest:
    """Return a `tool_use` block as a request."""
    try:
        return parse_call(block)
    except InvalidInput:
        # A provider may use IDs or names that are invalid for clients; such a call still gets a
        # result.
        return CallRequest(clean(str(block.get("id", ""))), str(block.get("name", "")), "{")
