"""The scripted server: `async with ScriptedOpenAI() as provider: …`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tests.support.scripted_anthropic.connection import HttpRequest
from tests.support.scripted_anthropic.rules import Refused, given_key
from tests.support.scripted_anthropic.server import Received, ScriptedAnthropic
from tests.support.scripted_anthropic.turns import HttpError
from tests.support.scripted_anthropic.wire import Wire
from tests.support.scripted_openai import rules, wire


class ReceivedChat(Received):
    """One request to `/v1/chat/completions` that followed the rules."""

    __slots__ = ()

    @property
    def messages(self) -> list[dict[str, Any]]:
        return list(self.body["messages"])

    @property
    def tool_names(self) -> list[str]:
        return [tool["function"]["name"] for tool in self.body.get("tools", [])]

    def tool_results(self) -> dict[str, dict[str, Any]]:
        """Return the results of the last turn of calls, by call ID."""
        return {
            message["tool_call_id"]: message
            for message in self.messages
            if message["role"] == "tool"
        }

    def last_user_text(self) -> str:
        content = self.messages[-1]["content"]
        return content if isinstance(content, str) else content[0]["text"]


class ScriptedOpenAI(ScriptedAnthropic):
    """`POST /v1/chat/completions` on loopback; scripts and waiting as in its parent.

    `unknown` are request fields that this server refuses.
    """

    _wire: Wire = wire
    _id_header = "x-request-id"
    unknown: frozenset[str] = frozenset({"max_completion_tokens"})

    @property
    def base_url(self) -> str:
        return f"{super().base_url}/v1"

    def _received(self, headers: Mapping[str, str], body: dict[str, Any]) -> Received:
        return ReceivedChat(headers, body)

    def _checked(self, request: HttpRequest) -> dict[str, Any]:
        if (request.method, request.path) != ("POST", "/v1/chat/completions"):
            raise Refused(HttpError(404, "invalid_request_error", "Not found"))
        if self._api_key is not None and given_key(request.headers) != self._api_key:
            raise Refused(HttpError(401, "invalid_request_error", "Incorrect API key provided"))
        body = json.loads(request.body)
        rules.check_body(body, self.unknown)
        checked: dict[str, Any] = body
        return checked
