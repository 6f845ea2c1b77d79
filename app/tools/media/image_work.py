"""Image processing in a sandboxed program, because decoders are not safe for hostile files."""

from __future__ import annotations

import hashlib
import json
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from app.core.errors import ToolFailed
from app.operations.images.provider import MAX_IMAGE_BYTES, ImageOrder
from app.operations.protocols.operations import Operations
from app.tools.dev.program_run import Program, run
from app.tools.media import image_program

_WALL_S = 60
_CAPTION = 80


@dataclass(frozen=True, slots=True)
class MadeImage:
    """PNG file with its size in pixels."""

    data: bytes
    width: int
    height: int


class LocalDrawing:
    """`ImageProvider` that draws shapes from the prompt's digest.

    The same prompt gives the same picture, without network, and every picture is marked as
    simulated.
    """

    name = "draw"
    model = "shapes-1"
    simulated = True
    timeout_s = 120.0

    def __init__(self, max_count: int) -> None:
        self.max_count = max_count

    async def make(self, order: ImageOrder, operations: Operations) -> list[bytes]:
        made = []
        for number in range(order.count):
            digest = hashlib.sha256(f"{number}\0{order.prompt}".encode())
            for given in order.images:
                digest.update(given)
            orders: dict[str, Any] = {
                "do": "vary" if order.images else "draw",
                "seed": digest.hexdigest(),
                "caption": order.prompt[:_CAPTION],
                "width": order.width,
                "height": order.height,
                "strength": 0.5 if order.strength is None else order.strength,
            }
            image = await _work(orders, order.images[0] if order.images else b"", operations)
            made.append(image.data)
        return made


async def thumbnail(data: bytes, side: int, operations: Operations) -> MadeImage:
    """Return the image as PNG, at most `side` pixels wide and high.

    Raises:
        ToolFailed: `unreadable_image`, or see `run`.
    """
    return await _work({"do": "thumbnail", "side": side}, data, operations)


async def _work(orders: dict[str, Any], data: bytes, operations: Operations) -> MadeImage:
    program = Program(
        argv=(sys.executable, "-I", "-c", _source()),
        stdin=json.dumps(orders).encode() + b"\n" + data,
        wall_s=_WALL_S,
        max_bytes=MAX_IMAGE_BYTES,
    )
    finished = await run(operations.processes, program)
    head, _, made = finished.stdout.partition(b"\n")
    reason: object = "it did not respond"
    try:
        answer = json.loads(head)
        reason = answer.get("error", reason)
        if "error" not in answer and not finished.truncated:
            return MadeImage(made, int(answer["width"]), int(answer["height"]))
    except (ValueError, KeyError, TypeError, AttributeError):
        pass  # the program may be compromised by its input
    raise ToolFailed(f"The image is unusable: {str(reason)[:200]}", code="unreadable_image")


@cache
def _source() -> str:
    return Path(image_program.__file__).read_text(encoding="utf-8")
