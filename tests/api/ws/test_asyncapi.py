"""The document that clients are generated from says what the models say."""

from __future__ import annotations

from typing import Any

from app.api.ws.asyncapi import document
from app.api.ws.commands import COMMAND_TYPES
from app.events.union import server_message


def test_every_command_and_every_server_message_is_in_the_document():
    messages = document()["components"]["messages"]
    sent = server_message.json_schema()["discriminator"]["mapping"]

    # A client may call a tool, and an older event says that one was called.
    twice = COMMAND_TYPES & set(sent)
    assert twice == {"tool_call"}
    received = {f"{name}_event" if name in twice else name for name in sent}
    assert set(messages) == COMMAND_TYPES | received
    assert messages["tool_call_event"]["name"] == "tool_call"


def test_the_version_is_one_that_generators_read():
    """Of 3.1.0 some make one empty type, without a word."""
    assert document()["asyncapi"] == "3.0.0"


def test_every_reference_leads_somewhere():
    whole = document()

    def look(node: Any) -> list[str]:
        if isinstance(node, dict):
            missing = [node["$ref"]] if "$ref" in node and not _found(whole, node["$ref"]) else []
            return missing + [item for value in node.values() for item in look(value)]
        if isinstance(node, list):
            return [item for value in node for item in look(value)]
        return []

    assert look(whole) == []


def _found(whole: dict[str, Any], reference: str) -> bool:
    node: Any = whole
    for part in reference.removeprefix("#/").split("/"):
        if not isinstance(node, dict) or part not in node:
            return False
        node = node[part]
    return True


def test_a_renamed_class_keeps_the_name_that_clients_generate_types_from():
    parts = document()["components"]
    assert parts["messages"]["ready"]["payload"] == {"$ref": "#/components/schemas/Ready"}
    assert "ConnectionReady" not in parts["schemas"]


def test_the_title_of_a_schema_is_its_name():
    schemas = document()["components"]["schemas"]
    assert {name: schema["title"] for name, schema in schemas.items()} == {n: n for n in schemas}
