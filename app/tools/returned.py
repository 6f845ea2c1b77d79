"""Parts of results that tools of several toolsets share."""

from __future__ import annotations

from app.toolkit.returns import INTEGER, TEXT, listed, maybe, record

CONFINED = record(level=TEXT, layers=listed(TEXT), missing=listed(TEXT), kill=maybe(TEXT))
"""What the sandbox of a call was made of."""
KEPT = record(
    {"url": TEXT, "path": TEXT}, name=TEXT, media_type=TEXT, size=INTEGER, artifact_id=TEXT
)
"""A file that was kept as an artifact."""
