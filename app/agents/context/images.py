"""Images in a conversation: the newest as bytes, older ones as a note."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any

from app.core.errors import NotFound, StorageUnavailable, ToolFailed
from app.core.file_signatures import image_type
from app.execution.outcome import CallOutcome
from app.toolkit.result import RawResult

MOST_IMAGES = 16
"""Above this number of images in a conversation, all but the newest `KEPT_IMAGES` become notes."""
KEPT_IMAGES = 8
MAX_IMAGE_BYTES = 3_500_000
"""Maximum size of one image: providers accept 5 MB of base64."""
MEDIA_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")
MAX_ALL_BYTES = 20_000_000
"""Maximum size of all images of one request: providers accept 32 MB of JSON."""
MAX_PER_RESULT = 4

Block = dict[str, Any]
Message = dict[str, Any]
Load = Callable[[str], Awaitable[bytes]]


def image_blocks(raw: RawResult | None) -> list[Block]:
    """Return the images of a tool's result as stored in a session: by artifact ID."""
    if raw is None or raw.type != "image" or not isinstance(raw.data, dict):
        return []
    blocks: list[Block] = []
    images = raw.data.get("images")
    for image in images if isinstance(images, list) else ():
        if not isinstance(image, dict):
            continue
        artifact_id, kind, size = (
            image.get(name) for name in ("artifact_id", "media_type", "size")
        )
        if not artifact_id or kind not in MEDIA_TYPES:
            continue
        if not isinstance(size, int) or not 0 < size <= MAX_IMAGE_BYTES:
            continue
        source = {
            "type": "artifact",
            "artifact_id": str(artifact_id),
            "media_type": kind,
            "size": size,
        }
        blocks.append({"type": "image", "source": source})
    return blocks[:MAX_PER_RESULT]


def result_block(outcome: CallOutcome) -> Block:
    """Return a call's `tool_result`, including its images."""
    block = outcome.tool_result_block()
    return {**block, "content": [*block["content"], *image_blocks(outcome.result.raw_result)]}


def image_keys(messages: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the keys of all images of a conversation, including those in results."""
    return [_key(image) for message in messages for image in _images(message["content"])]


async def with_images(
    messages: Sequence[Message], load: Load, *, refused: Collection[str] = frozenset()
) -> list[Message]:
    """Return the messages with the bytes of their newest images; the others become notes.

    The selection changes only when there are too many images, and then for many of them, so that a
    provider's cache stays valid.

    Args:
        load: returns an artifact's bytes. Raises ToolFailed or NotFound if it is missing.
        refused: keys of images that the provider rejects.
    """
    if refused:
        messages = [
            {**message, "content": [_unless(block, refused) for block in message["content"]]}
            for message in messages
        ]
    if not any(map(_has_image, messages)):
        return list(messages)
    sizes = [size for message in messages for size in _sizes(message["content"])]
    dropped = _dropped(sizes)
    prepared: list[Message] = []
    seen = 0
    for message in messages:
        blocks = []
        for block in message["content"]:
            blocks.append(await _block(block, dropped - seen, load))
            seen += _count(block)
        prepared.append({**message, "content": blocks})
    return prepared


def _has_image(message: Message) -> bool:
    for block in message["content"]:
        kind = block.get("type")
        if kind == "image":
            return True
        if kind == "tool_result" and any(
            part.get("type") in ("image", "tool_result")
            for part in block.get("content") or ()
            if isinstance(part, dict)
        ):
            return True
    return False


def _dropped(sizes: Sequence[int]) -> int:
    """Return how many of the oldest images become notes."""
    dropped = 0
    if len(sizes) > MOST_IMAGES:
        step = MOST_IMAGES - KEPT_IMAGES
        dropped = -(-(len(sizes) - MOST_IMAGES) // step) * step
    while sum(sizes[dropped:]) > MAX_ALL_BYTES:
        dropped += 1
    return dropped


def _images(blocks: Iterable[Block]) -> Iterator[Block]:
    """Yield the images in blocks, including those in results."""
    for block in blocks:
        if block.get("type") == "tool_result" and not isinstance(block.get("content"), str):
            yield from _images(block.get("content") or ())
        elif block.get("type") == "image":
            yield block


def _sizes(blocks: Iterable[Block]) -> Iterator[int]:
    """Yield the approximate size of each image in bytes."""
    for block in _images(blocks):
        source = block.get("source") or {}
        yield int(source.get("size") or len(source.get("data") or "") * 3 // 4)


def _key(image: Mapping[str, Any]) -> str:
    source = image.get("source") or {}
    if source.get("artifact_id"):
        return str(source["artifact_id"])
    content = str(source.get("data") or source.get("url") or "")
    return sha256(content.encode()).hexdigest()[:32]


def _unless(block: Block, refused: Collection[str]) -> Block:
    """Return a block; images rejected by the provider become notes."""
    if not _count(block):
        return block
    if block["type"] == "image":
        return _note(block, "the model's provider rejected it") if _key(block) in refused else block
    return {**block, "content": [_unless(part, refused) for part in block["content"]]}


def _count(block: Block) -> int:
    return sum(1 for _ in _sizes([block]))


async def _block(block: Block, dropped: int, load: Load) -> Block:
    """Return a block; its first `dropped` images become notes."""
    if not _count(block):
        return block
    if block["type"] == "image":
        return await _image(block, load) if dropped <= 0 else _note(block, "older")
    parts = []
    for part in block["content"]:
        parts.append(await _block(part, dropped, load))
        dropped -= _count(part)
    return {**block, "content": parts}


async def _image(block: Block, load: Load) -> Block:
    source = block.get("source") or {}
    if source.get("type") != "artifact":
        return block
    try:
        data = await load(source["artifact_id"])
    except (ToolFailed, NotFound, StorageUnavailable):
        return _note(block, "gone")
    if len(data) > MAX_IMAGE_BYTES or image_type(data) != source["media_type"]:
        return _note(block, "it cannot be shown")
    encoded = b64encode(data).decode()
    kept = {"type": "base64", "media_type": source["media_type"], "data": encoded}
    return {"type": "image", "source": kept}


def _note(block: Block, why: str) -> Block:
    artifact_id = (block.get("source") or {}).get("artifact_id")
    where = f"; artifact {artifact_id}" if artifact_id else ""
    return {"type": "text", "text": f"[An image is omitted here: {why}{where}.]"}
