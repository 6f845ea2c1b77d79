"""Measure an image: JSON on standard input, one event a line on standard output."""
# ruff: noqa: INP001 - a program of its own, no package

from __future__ import annotations

import json
import sys
from pathlib import Path

from PIL import Image, ImageDraw, ImageStat

MAX_PIXELS = 60_000_000
GRID = 160
RESULT_SIDE = 1600

Cell = tuple[int, int]
Box = tuple[int, int, int, int]
Colour = tuple[int, ...]


def say(event: str, **fields: object) -> None:
    """Write one event."""
    sys.stdout.write(json.dumps({"event": event, **fields}) + "\n")
    sys.stdout.flush()


def load(path: str) -> Image.Image:
    """The image as RGB."""
    say("progress", stage="load", percent=0, message="opening the image")
    Image.MAX_IMAGE_PIXELS = MAX_PIXELS
    with Image.open(path) as opened:
        if opened.width * opened.height > MAX_PIXELS:
            sys.exit(f"The image has more than {MAX_PIXELS} pixels; make it smaller")
        image = opened.convert("RGB")
    say("progress", stage="load", percent=20, message=f"{image.width} x {image.height} pixels")
    return image


def border_colour(small: Image.Image) -> Colour:
    """The middle value of each channel along the border."""
    width, height = small.size
    edge = [(x, y) for x in range(width) for y in (0, height - 1)]
    edge += [(x, y) for y in range(height) for x in (0, width - 1)]
    pixels = [small.getpixel(place) for place in edge]
    return tuple(
        sorted(pixel[channel] for pixel in pixels if isinstance(pixel, tuple))[len(pixels) // 2]
        for channel in range(3)
    )


def detect(small: Image.Image, background: Colour, sensitivity: float) -> set[Cell]:
    """Cells that differ from the background."""
    say("progress", stage="detect", percent=30, message="comparing with the background")
    least = 3 * (101 - sensitivity)
    found = set()
    for y in range(small.height):
        for x in range(small.width):
            pixel = small.getpixel((x, y))
            assert isinstance(pixel, tuple)
            if sum(abs(a - b) for a, b in zip(pixel, background, strict=True)) >= least:
                found.add((x, y))
    say("progress", stage="detect", percent=50, message=f"{len(found)} places stand out")
    return found


def locate(found: set[Cell]) -> list[set[Cell]]:
    """Neighbouring cells joined, the largest region first."""
    say("progress", stage="locate", percent=55, message="joining places to regions")
    left, regions = set(found), []
    while left:
        region, waiting = set(), [left.pop()]
        while waiting:
            x, y = waiting.pop()
            region.add((x, y))
            for near in ((x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)):
                if near in left:
                    left.remove(near)
                    waiting.append(near)
        regions.append(region)
    regions.sort(key=lambda region: (-len(region), min(region)))
    say("progress", stage="locate", percent=75, message=f"{len(regions)} regions")
    return regions


def box_of(region: set[Cell], small: Image.Image, image: Image.Image) -> Box:
    """The region's box in pixels of the image."""
    across, down = image.width / small.width, image.height / small.height
    xs, ys = [x for x, _ in region], [y for _, y in region]
    return (
        int(min(xs) * across),
        int(min(ys) * down),
        min(image.width, round((max(xs) + 1) * across)),
        min(image.height, round((max(ys) + 1) * down)),
    )


def review(image: Image.Image, boxes: list[Box]) -> str:
    """A copy with the boxes drawn in; its name."""
    say("progress", stage="review", percent=80, message="drawing what was found")
    copy = image.copy()
    pen = ImageDraw.Draw(copy)
    for number, box in enumerate(boxes, 1):
        pen.rectangle((box[0], box[1], box[2] - 1, box[3] - 1), outline=(255, 0, 80), width=2)
        pen.text((box[0] + 3, box[1] + 2), str(number), fill=(255, 0, 80))
    copy.thumbnail((RESULT_SIDE, RESULT_SIDE))
    copy.save("annotated.png")
    say("progress", stage="review", percent=100, message="done")
    return "annotated.png"


def notes_on(coverage: float, regions: list[set[Cell]], shown: int, deviation: float) -> list[str]:
    """What makes the figures doubtful."""
    notes = []
    if not regions:
        notes.append("Nothing stands out from the background")
    if coverage > 0.6:
        notes.append("Most of the image differs from its border: there may be no background")
    if deviation < 3:
        notes.append("The image is almost of one color")
    if len(regions) > shown:
        notes.append(f"{len(regions) - shown} smaller regions are omitted")
    return notes


def main() -> None:
    """Read the arguments, work through the stages, give the result."""
    args = json.load(sys.stdin)
    image = load(args["image"])
    small = image.copy()
    small.thumbnail((GRID, GRID))
    background = border_colour(small)
    found = detect(small, background, args.get("sensitivity", 40))
    regions = locate(found)
    shown = regions[: args.get("max_regions", 10)]
    boxes = [box_of(region, small, image) for region in shown]
    annotated = review(image, boxes)
    cells = small.width * small.height
    figures = ImageStat.Stat(image)
    channels = {
        name: {
            "mean": round(figures.mean[at], 2),
            "min": figures.extrema[at][0],
            "max": figures.extrema[at][1],
            "deviation": round(figures.stddev[at], 2),
        }
        for at, name in enumerate(("red", "green", "blue"))
    }
    coverage = len(found) / cells
    data = {
        "width": image.width,
        "height": image.height,
        "channels": channels,
        "background": list(background),
        "coverage": round(coverage, 4),
        "regions": [
            {"box": list(box), "share": round(len(region) / cells, 4)}
            for box, region in zip(boxes, shown, strict=True)
        ],
        "notes": notes_on(coverage, regions, len(shown), max(figures.stddev)),
    }
    say("result", data=data, artifacts=[str(Path(annotated))])


if __name__ == "__main__":
    main()
