"""A scripted chat completions server, a client of it, and chunks to write scripts with."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from app.agents.models.openai import OpenAIModel, OpenAISettings
from tests.agents.models.exchange import KEY, Waits
from tests.support.scripted_anthropic.turns import RawData, Turn
from tests.support.scripted_openai.server import ScriptedOpenAI
from tests.support.scripted_openai.wire import UNSAID


@dataclass
class ChatLab:
    provider: ScriptedOpenAI
    model: OpenAIModel
    waits: Waits


@asynccontextmanager
async def chat_lab(**settings: Any) -> AsyncIterator[ChatLab]:
    waits = Waits()
    async with ScriptedOpenAI(api_key=KEY) as provider:
        reached = {"api_key": KEY, "base_url": provider.base_url, **settings}
        model = OpenAIModel(OpenAISettings(**reached), sleep=waits)
        try:
            yield ChatLab(provider, model, waits)
        finally:
            await model.aclose()


def raw(*chunks: Mapping[str, Any] | str) -> Turn:
    """A turn of exactly these chunks, and `[DONE]`."""
    texts = [chunk if isinstance(chunk, str) else json.dumps(chunk) for chunk in chunks]
    return Turn(*(RawData("", text) for text in texts), stop=UNSAID)


def delta(reason: str | None = None, **fields: Any) -> dict[str, Any]:
    """A chunk with one choice."""
    return {"choices": [{"index": 0, "delta": fields, "finish_reason": reason}]}


def call(
    arguments: Any = None, *, reason: str | None = None, name: str | None = None, **fields: Any
) -> dict[str, Any]:
    """A chunk with a piece of one call; `fields` are its index and id."""
    function = {"name": name, "arguments": arguments}
    known = {key: value for key, value in function.items() if value is not None}
    return delta(reason, tool_calls=[{**fields, "function": known}])


STOP = delta("stop")
CALLED = delta("tool_calls")
