"""Result schemas of the channel tools."""

from __future__ import annotations

from app.toolkit.returns import FLAG, TEXT, maybe, record

WEIXIN_SEND_TEXT_RESULT = record(
    {
        "channel_id": TEXT,
        "target": maybe(TEXT),
        "watermark": maybe(TEXT),
        "verified": maybe(FLAG),
        "code": maybe(TEXT),
        "error": maybe(TEXT),
    },
    task_id=TEXT,
    status=TEXT,
)
