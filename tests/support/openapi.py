"""OpenAPI document, created once, because that takes longer than most tests."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from app.main import application
from tests.support.service import settings_for


def openapi_document() -> dict[str, Any]:
    """Return a copy of the document that every service serves at `/openapi.json`."""
    loaded: dict[str, Any] = json.loads(_written())
    return loaded


@cache
def _written() -> str:
    with TemporaryDirectory() as folder:
        return json.dumps(application(settings_for(Path(folder))).openapi())


def references(value: Any) -> list[str]:
    """Every `$ref` below a value."""
    if isinstance(value, dict):
        own = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
        return own + [target for item in value.values() for target in references(item)]
    if isinstance(value, list):
        return [target for item in value for target in references(item)]
    return []
