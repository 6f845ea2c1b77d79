"""Image processing, as a separate program inside the sandbox.

`python -c SOURCE` reads one JSON line with the order, then the bytes of an image (none for `draw`),
and prints one JSON line, then the bytes of the created image:

    {"do": "draw", "seed": hex, "caption": text, "width": W, "height": H}
    {"do": "vary", …the same…, "strength": 0..1}
    {"do": "thumbnail", "side": pixels}

The response is `{"width": W, "height": H}` of the created image, or `{"error": reason}`. It imports
nothing of the application.
"""

from __future__ import annotations

import io
import json
import random
import resource
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from PIL import Image

_MEMORY = 1 << 30
_MAX_PIXELS = 64_000_000
_FORMATS = ("PNG", "JPEG", "GIF", "WEBP")
_SHAPES = 24


def main() -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, _MEMORY))
    order = json.loads(sys.stdin.buffer.readline())
    made = b""
    try:
        answer, made = _made(order)
    except MemoryError:
        answer = {"error": "it exceeds the memory limit for images"}
    except Exception as error:  # noqa: BLE001 - a damaged file makes the decoder fail anywhere
        answer = {"error": f"it is not a readable image ({type(error).__name__})"}
    sys.stdout.buffer.write(json.dumps(answer).encode() + b"\n" + made)


def _made(order: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    if order["do"] == "draw":
        image = _drawn(order)
    elif order["do"] == "vary":
        image = _varied(order, _opened())
    else:
        image = _opened()
        image.thumbnail((order["side"], order["side"]))
    written = io.BytesIO()
    image.save(written, "PNG", pnginfo=_metadata(order))
    return {"width": image.width, "height": image.height}, written.getvalue()


def _opened() -> Image.Image:
    from PIL import Image

    Image.MAX_IMAGE_PIXELS = _MAX_PIXELS
    with Image.open(io.BytesIO(sys.stdin.buffer.read()), formats=_FORMATS) as image:
        if image.width * image.height > _MAX_PIXELS:
            raise ValueError("too many pixels")
        return image.convert("RGB")


def _metadata(order: dict[str, Any]) -> Any:
    """Mark the file itself as simulated."""
    from PIL.PngImagePlugin import PngInfo

    if order["do"] == "thumbnail":
        return None
    metadata = PngInfo()
    metadata.add_text("Software", "Tollgate draw (simulated)")
    return metadata


def _drawn(order: dict[str, Any]) -> Image.Image:
    """Draw shapes determined by the seed, with the caption below."""
    from PIL import Image, ImageDraw

    chance = random.Random(order["seed"])  # noqa: S311 - a picture, not a secret
    size = (order["width"], order["height"])
    image = Image.new("RGB", size, _colour(chance, 200, 255))
    draw = ImageDraw.Draw(image)
    for _ in range(_SHAPES):
        _shape(draw, chance, size)
    words = order["caption"].encode("ascii", "replace").decode()
    band = max(24, size[1] // 16)
    draw.rectangle((0, size[1] - band, size[0], size[1]), fill=(0, 0, 0))
    draw.text((8, size[1] - band + band // 3), f"simulated: {words}", fill=(255, 255, 255))
    return image


def _shape(draw: Any, chance: random.Random, size: tuple[int, int]) -> None:
    x, y = chance.randrange(size[0]), chance.randrange(size[1])
    half = chance.randrange(8, max(9, min(size) // 5))
    box = (x - half, y - half, x + half, y + half)
    kind = chance.choice((draw.ellipse, draw.rectangle, draw.rounded_rectangle))
    kind(box, fill=_colour(chance, 0, 255), outline=_colour(chance, 0, 90))


def _colour(chance: random.Random, low: int, high: int) -> tuple[int, int, int]:
    return (
        chance.randint(low, high),
        chance.randint(low, high),
        chance.randint(low, high),
    )


def _varied(order: dict[str, Any], image: Image.Image) -> Image.Image:
    """Draw shapes over the image, more opaque with greater strength."""
    from PIL import Image as Images

    size = (order["width"], order["height"])
    veil = _drawn(order)
    return Images.blend(image.resize(size), veil, order["strength"])


if __name__ == "__main__":
    main()
