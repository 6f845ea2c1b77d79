"""The scripted model of the benchmarks, asked by the SDK alone."""

import anthropic
import orjson
import pytest

from benchmarks.model import converse, scripted_model, sdk_alone


def conversation(turns: int, *, fails: bool = False) -> list[bytes]:
    """Return the requests of a conversation, each with one more result."""
    result = {"type": "tool_result", "tool_use_id": "t", "is_error": fails}
    return [
        orjson.dumps({"messages": [{"role": "user", "content": [result] * taken}]})
        for taken in range(turns + 1)
    ]


async def test_a_conversation_is_counted_when_its_text_is_sent():
    async with scripted_model(2) as model, sdk_alone(model) as client:
        await converse(client, conversation(2))
        await converse(client, conversation(2))
        assert await model.ended(2) > 0
        assert await model.bodies() == conversation(2)


async def test_a_failed_call_gets_no_answer():
    async with scripted_model(2) as model, sdk_alone(model) as client:
        with pytest.raises(anthropic.APIConnectionError):
            await converse(client, conversation(2, fails=True)[1:])
