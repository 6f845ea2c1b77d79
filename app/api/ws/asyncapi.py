"""AsyncAPI 3 document of the chat protocol, generated from the models."""

from __future__ import annotations

from typing import Any

from app import __version__
from app.api.ws import close_codes
from app.api.ws.commands import client_command
from app.events.envelope import PROTOCOL
from app.events.union import server_message

_DESCRIPTION = (
    "One WebSocket carries many sessions. Frames are JSON text. Durable events have a "
    "gap-free `seq` per session and epoch and can be replayed; ephemeral ones have "
    "`after_seq` and can be dropped; the durable event that follows contains all of "
    "it. Receivers ignore fields and event types they do not know."
)


def document() -> dict[str, Any]:
    """Return the document: one channel, two operations, and one message per model."""
    schemas: dict[str, Any] = {}
    sent = _messages(client_command.json_schema(ref_template=_REF), schemas)
    received = _messages(
        server_message.json_schema(ref_template=_REF, mode="serialization"), schemas
    )
    channel = "chat"
    # Legacy events include a `tool_call`, like the commands.
    received = {f"{name}_event" if name in sent else name: m for name, m in received.items()}
    names = [*sent, *received]
    return {
        "asyncapi": "3.0.0",
        "id": "urn:tollgate:chat",
        "info": {
            "title": "Tollgate chat protocol",
            "version": __version__,
            "description": _DESCRIPTION,
            "license": {"name": "Apache-2.0"},
            "tags": [{"name": "chat", "description": "Sessions, tool calls, confirmations"}],
        },
        "defaultContentType": "application/json",
        "servers": {
            "local": {
                "host": "127.0.0.1:8420",
                "protocol": "ws",
                "description": "A service on this machine.",
            }
        },
        "channels": {
            channel: {
                "address": "/api/v1/ws",
                "title": PROTOCOL,
                "description": _close_codes(),
                "messages": {name: {"$ref": f"#/components/messages/{name}"} for name in names},
                "bindings": {"ws": {"method": "GET"}},
            }
        },
        "operations": {
            "sendCommand": _operation("receive", channel, sent, "What a client sends."),
            "receiveMessage": _operation("send", channel, received, "What the server sends."),
        },
        "components": {
            "messages": {**sent, **received},
            "schemas": schemas,
        },
    }


_REF = "#/components/schemas/{model}"
# Clients generate types by these names, so a class that is renamed keeps its published one.
_PUBLISHED = {"ConnectionReady": "Ready"}


def _messages(union: dict[str, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    """Return messages by name for a discriminated union; add their schemas to `schemas`."""
    definitions: dict[str, Any] = union.get("$defs", {})
    for name, schema in definitions.items():
        published = _PUBLISHED.get(name, name)
        schemas[published] = {**_plain(schema), "title": published}
    messages: dict[str, Any] = {}
    for wire_name, reference in sorted(union["discriminator"]["mapping"].items()):
        defined = reference.rsplit("/", 1)[1]
        model = _PUBLISHED.get(defined, defined)
        description = definitions[defined].get("description", wire_name)
        messages[wire_name] = {
            "name": wire_name,
            "title": model,
            "summary": description.split("\n\n")[0].replace("\n", " "),
            "contentType": "application/json",
            "payload": {"$ref": _REF.format(model=model)},
        }
    return messages


def _plain(schema: Any) -> Any:
    """Return a schema without `discriminator` objects; AsyncAPI only allows names there."""
    if isinstance(schema, dict):
        return {
            key: _plain(value)
            for key, value in schema.items()
            if not (key == "discriminator" and isinstance(value, dict))
        }
    return [_plain(item) for item in schema] if isinstance(schema, list) else schema


def _operation(action: str, channel: str, messages: dict[str, Any], summary: str) -> dict[str, Any]:
    return {
        "action": action,
        "channel": {"$ref": f"#/channels/{channel}"},
        "summary": summary,
        "messages": [{"$ref": f"#/channels/{channel}/messages/{name}"} for name in messages],
    }


def _close_codes() -> str:
    rows = "\n".join(f"- {close.code} {close.reason}" for close in close_codes.ALL)
    return f"Close codes: 4000 to 4499 mean reconnect and resume, 4500 to 4999 stop.\n{rows}"
