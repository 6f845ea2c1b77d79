"""Parts of results shared by several toolsets."""

from __future__ import annotations

from app.toolkit.returns import INTEGER, TEXT, listed, maybe, record

CONFINED = record(level=TEXT, layers=listed(TEXT), missing=listed(TEXT), kill=maybe(TEXT))
"""Sandbox of a call."""
KEPT = record(
    {"url": TEXT, "path": TEXT}, name=TEXT, media_type=TEXT, size=INTEGER, artifact_id=TEXT
)
"""File stored as an artifact."""
