"""What a request may ask, and the client of an installation without a key."""

from __future__ import annotations

from typing import Any

import pytest

from app.agents.models.protocol import ModelClient, ModelRequest, TokenUsage
from app.agents.models.routing import NoModel
from app.core.errors import InvalidInput, ModelFailed


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"model": ""}, "model"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"temperature": -0.1}, "temperature"),
        ({"temperature": float("nan")}, "temperature"),
        ({"thinking_budget": 1023}, "thinking_budget"),
        ({"thinking_budget": 4000}, "thinking_budget"),
        ({"thinking_budget": 2000, "adaptive_thinking": True}, "thinking_budget"),
    ],
)
def test_a_request_out_of_range_names_its_field(fields: dict[str, Any], field: str) -> None:
    valid: dict[str, Any] = {"model": "m", "messages": (), "max_tokens": 4000}

    with pytest.raises(InvalidInput) as caught:
        ModelRequest(**{**valid, **fields})

    assert caught.value.details == {"field": field}


def test_usage_adds_up() -> None:
    assert TokenUsage(1, 2, 3, 4) + TokenUsage(10, 20, 30, 40) == TokenUsage(11, 22, 33, 44)


async def test_without_a_key_each_request_fails_with_the_fix() -> None:
    model: ModelClient = NoModel("ANTHROPIC_API_KEY")

    with pytest.raises(ModelFailed, match="set ANTHROPIC_API_KEY") as caught:
        await anext(model.stream(ModelRequest(model="m", messages=(), max_tokens=1)))
    await model.aclose()

    assert caught.value.details == {
        "provider_code": "no_model_key",
        "status": None,
        "retryable": False,
    }
