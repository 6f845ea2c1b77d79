"""Content of a user message: text, or blocks of text and images."""

from __future__ import annotations

from typing import Any

from app.core.errors import InvalidInput
from app.core.text import clean

Block = dict[str, Any]
MAX_BLOCKS = 100
_IMAGE_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")


def user_content(content: str | list[dict[str, Any]]) -> list[Block]:
    """Return validated content blocks.

    Raises:
        InvalidInput: the content is empty, or a block is neither text nor an image.
    """
    blocks: list[dict[str, Any]]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    if not blocks or len(blocks) > MAX_BLOCKS:
        raise InvalidInput(f"content must contain 1 to {MAX_BLOCKS} blocks", field="content")
    checked = [_block(block, index) for index, block in enumerate(blocks)]
    if all(block["type"] == "text" and not block["text"].strip() for block in checked):
        raise InvalidInput("content is empty", field="content")
    return checked


def _block(block: dict[str, Any], index: int) -> Block:
    kind = block.get("type")
    if kind == "text" and isinstance(block.get("text"), str):
        return {"type": "text", "text": clean(block["text"])}
    if kind == "image":
        return {"type": "image", "source": _image_source(block.get("source"), index)}
    raise InvalidInput(f"content[{index}] must be a text or image block", field=f"content[{index}]")


def _image_source(source: Any, index: int) -> dict[str, str]:
    """Accept only inline bytes: a URL would make the provider fetch it for the client."""
    if (
        isinstance(source, dict)
        and source.get("type") == "base64"
        and source.get("media_type") in _IMAGE_TYPES
        and isinstance(source.get("data"), str)
    ):
        return {"type": "base64", "media_type": source["media_type"], "data": source["data"]}
    raise InvalidInput(
        f"content[{index}].source must be base64 data of {', '.join(_IMAGE_TYPES)}",
        field=f"content[{index}].source",
    )
