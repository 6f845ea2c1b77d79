"""Definitions are encoded once, and never taken for others."""

import orjson

from app.agents.models.tool_encoder import MAX_SETS, ToolEncoder


def definition(name: str) -> dict[str, object]:
    return {"name": name, "description": "", "input_schema": {"type": "object"}}


def test_the_same_definitions_are_encoded_once():
    encoder, tools = ToolEncoder(), [definition("add"), definition("sum")]
    first = encoder.encoded(tools)
    assert encoder.encoded(list(tools)) is first
    assert orjson.loads(orjson.dumps({"tools": first})) == {"tools": tools}


def test_another_order_or_another_set_is_encoded_again():
    encoder, (one, two) = ToolEncoder(), (definition("add"), definition("sum"))
    sent = [[one, two], [two, one], [one], [one, definition("sum")]]
    assert [orjson.loads(orjson.dumps(encoder.encoded(tools))) for tools in sent] == sent


def test_definitions_that_are_gone_are_not_taken_for_new_ones():
    encoder = ToolEncoder()
    for number in range(3 * MAX_SETS):
        tools = [definition(f"tool_{number}")]
        assert orjson.loads(orjson.dumps(encoder.encoded(tools))) == tools
