"""The drawn icons: pictures that readers of PNG and ICO accept, with the shapes of the SVG."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from web import icons

CORNER, POST, GROUND = (0, 0), (8, 18), (16, 26)


def at(image: Any, place: tuple[int, int]) -> tuple[int, ...]:
    scale = image.width / icons.SIDE
    pixel: tuple[int, ...] = image.getpixel(tuple(int((value + 0.5) * scale) for value in place))
    return pixel


@pytest.mark.parametrize("size", [32, 48])
def test_an_icon_has_the_shapes_of_the_drawing(size: int):
    image = Image.open(BytesIO(icons.png(size)))

    assert image.size == (size, size)
    assert at(image, CORNER)[3] == 0
    assert at(image, GROUND) == (*icons.GROUND, 255)
    assert at(image, POST)[0] > icons.GROUND[0]


def test_a_maskable_icon_fills_its_square_and_stays_inside_the_safe_part():
    image = Image.open(BytesIO(icons.png(64, maskable=True)))

    assert at(image, CORNER) == (*icons.GROUND, 255)
    margin = int(64 * (1 - icons.SAFE) / 2)
    for row in range(64):
        for column in [*range(margin), *range(64 - margin, 64)]:
            assert image.getpixel((column, row)) == (*icons.GROUND, 255)


def test_every_icon_of_the_manifest_is_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(icons, "SIZES", (16, 24))
    icons.draw_all(tmp_path)

    assert {path.name for path in tmp_path.iterdir()} == {
        *("icon-16.png", "icon-24.png", "favicon.ico")
    }
    with Image.open(tmp_path / "favicon.ico") as image:
        assert image.size == (32, 32)
