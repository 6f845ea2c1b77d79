"""Writes `.generated/api.json`: what the TypeScript types are made from.

The OpenAPI document, with the messages of the WebSocket among its schemas as `Ws…`.
Run it with the project's Python; `npm run types` turns it into `src/api/schema.d.ts`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from app.cli.documents import asyncapi_document, openapi_document
from app.config.settings import load_settings

OUT = Path(__file__).resolve().parent / ".generated" / "api.json"
REF = "#/components/schemas/"
PREFIX = "Ws"


def main() -> None:
    """Write the document."""
    document = openapi_document(load_settings(_env_file=None))
    schemas: dict[str, Any] = document["components"]["schemas"]
    for name, schema in asyncapi_document()["components"]["schemas"].items():
        schemas[PREFIX + name] = _always_typed(_renamed(schema))
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(json.dumps(document, ensure_ascii=False, indent=1), encoding="utf-8")


def _renamed(value: Any) -> Any:
    """The same with references to the prefixed names."""
    if isinstance(value, dict):
        return {
            key: item.replace(REF, REF + PREFIX)
            if key == "$ref" and isinstance(item, str)
            else _renamed(item)
            for key, item in value.items()
        }
    return [_renamed(item) for item in value] if isinstance(value, list) else value


def _always_typed(schema: dict[str, Any]) -> dict[str, Any]:
    """`type` and `v` have defaults, and are always sent."""
    always = [
        name for name in ("v", "type") if "const" in schema.get("properties", {}).get(name, {})
    ]
    required = [*always, *(name for name in schema.get("required", []) if name not in always)]
    return {**schema, "required": required} if required else schema


if __name__ == "__main__":
    main()
