"""Result schemas of the media tools."""

from __future__ import annotations

from app.toolkit.returns import ANYTHING, FLAG, INTEGER, TEXT, listed, maybe, record
from app.tools.result_parts import CONFINED, KEPT

SCREENSHOT_RESULT = record(
    {"url": TEXT, "title": TEXT, "refused": listed(ANYTHING), "sandbox": CONFINED},
    mode=TEXT,
    path=TEXT,
    width=INTEGER,
    height=INTEGER,
    size=INTEGER,
    artifact_id=TEXT,
)
_FAILED = record({"code": TEXT}, path=TEXT, error=TEXT)
SEND_MEDIA_RESULT = record(message=TEXT, sent=listed(KEPT), failed=listed(_FAILED))
_PROVENANCE = record(
    provider=TEXT,
    model=TEXT,
    simulated=FLAG,
    prompt_sha256=TEXT,
    made_from_sha256=listed(TEXT),
)
_IMAGE = record(
    {"url": TEXT, "thumbnail_id": maybe(TEXT)},
    name=TEXT,
    media_type=TEXT,
    size=INTEGER,
    artifact_id=TEXT,
    width=INTEGER,
    height=INTEGER,
    sha256=TEXT,
    provenance=_PROVENANCE,
)
IMAGES_RESULT = record(images=listed(_IMAGE), provider=TEXT, model=TEXT, simulated=FLAG)
