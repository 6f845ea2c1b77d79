"""Examples of models in the OpenAPI document."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict

MOMENT = "2026-11-21T09:30:00.000Z"


def example(**fields: Any) -> ConfigDict:
    """Return a model configuration with one example.

    Validators are built on first use, which takes less than a millisecond; building all of them
    would take a twentieth of the server's start-up time.
    """
    return ConfigDict(extra="forbid", json_schema_extra={"examples": [fields]}, defer_build=True)
