"""Images made, kept and shown: the whole way of a call."""

from __future__ import annotations

import base64
import hashlib
import struct
import zlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from app.config.settings import Settings
from app.core.file_signatures import image_type
from app.execution.calls import CallRequest
from app.execution.outcome import CallOutcome
from app.tools.media.generation import paths_among
from app.tools.media.image_to_image import image_to_image
from app.tools.media.text_to_image import text_to_image
from tests.execution.lab import Lab, open_lab, settings_for
from tests.support.model_api import PNG, Maker, making

SIZES = {"square": (1024, 1024), "landscape": (1024, 680), "9:16": (576, 1024)}


def png_of(width: int, height: int) -> bytes:
    """A file whose header promises so many pixels, and which holds none."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        crc = struct.pack(">I", zlib.crc32(kind + data))
        return struct.pack(">I", len(data)) + kind + data + crc

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", b"") + chunk(b"IEND", b"")


@pytest.fixture
def drawing(tmp_path: Path, template: Path) -> Settings:
    return settings_for(tmp_path / "data", template, images={"provider": "draw"})


@pytest.fixture
async def lab(drawing: Settings) -> AsyncIterator[Lab]:
    async with open_lab(drawing) as opened:
        yield opened


async def _call(lab: Lab, name: str, **arguments: Any) -> CallOutcome:
    return (await lab.run(CallRequest("c1", name, arguments)))[0]


async def _stored(lab: Lab, artifact_id: str) -> bytes:
    return await lab.runtime.artifacts.load(
        artifact_id, session_id=lab.session.id, max_bytes=1 << 24
    )


@pytest.mark.requirement("IMG-01")
async def test_an_image_is_kept_with_its_digest_and_can_be_loaded_after_a_restart(
    drawing: Settings,
):
    async with open_lab(drawing) as lab:
        made = await _call(lab, "text_to_image", prompt="A red roof")
        assert (made.status, made.result.error) == ("success", None)
        (image,) = made.result.data["images"]
        session_id = lab.session.id
    async with open_lab(drawing) as again:
        data = await again.runtime.artifacts.load(
            image["artifact_id"], session_id=session_id, max_bytes=1 << 24
        )
        small = await again.runtime.artifacts.load(
            image["thumbnail_id"], session_id=session_id, max_bytes=1 << 24
        )
    assert hashlib.sha256(data).hexdigest() == image["sha256"]
    assert b"Tollgate draw (simulated)" in data
    assert image_type(small) == "image/png"
    assert len(small) < len(data)
    assert image["url"] == f"/api/v1/artifacts/{image['artifact_id']}"


@pytest.mark.requirement("IMG-01")
async def test_the_result_shows_the_image_and_says_who_made_it(lab: Lab):
    made = await _call(lab, "text_to_image", prompt="A red roof", count=2)
    assert made.result.raw_result is not None
    shown = made.result.raw_result.to_dict()
    assert shown["type"] == "image"
    assert [image["artifact_id"] for image in shown["data"]["images"]] == [
        image["artifact_id"] for image in made.result.data["images"]
    ]
    assert made.result.data["simulated"] is True
    assert made.result.data["images"][0]["provenance"] == {
        "provider": "draw",
        "model": "shapes-1",
        "simulated": True,
        "prompt_sha256": hashlib.sha256(b"A red roof").hexdigest(),
        "made_from_sha256": [],
    }
    assert "simulated" in str(made.result.text)


async def test_the_same_words_draw_the_same_picture_and_others_another(lab: Lab):
    digests = []
    for prompt in ("one", "one", "two"):
        made = await _call(lab, "text_to_image", prompt=prompt, image_size="small")
        digests.append(made.result.data["images"][0]["sha256"])
    assert digests[0] == digests[1] != digests[2]
    twice = await _call(lab, "text_to_image", prompt="one", image_size="small", count=2)
    assert len({image["sha256"] for image in twice.result.data["images"]}) == 2


@pytest.mark.parametrize(("aspect", "size"), SIZES.items())
async def test_an_image_has_the_shape_that_was_asked_for(lab: Lab, aspect, size):
    made = await _call(lab, "text_to_image", prompt="x", aspect_ratio=aspect)
    (image,) = made.result.data["images"]
    assert (image["width"], image["height"]) == size


@pytest.mark.requirement("IMG-01")
async def test_an_image_is_made_of_a_file_and_of_an_artifact(lab: Lab):
    first = await _call(lab, "text_to_image", prompt="x", output_path="pics/roof")
    assert first.result.data["paths"] == ["pics/roof.png"]
    files = lab.context["project"].operations.files
    file = await files.read("pics/roof.png", max_bytes=1 << 24)
    artifact_id = first.result.data["images"][0]["artifact_id"]
    assert file == await _stored(lab, artifact_id)

    for source in ("pics/roof.png", artifact_id):
        made = await _call(lab, "image_to_image", prompt="snow", image=source, strength=0.3)
        assert (made.status, made.result.error) == ("success", None)
        provenance = made.result.data["images"][0]["provenance"]
        assert provenance["made_from_sha256"] == [hashlib.sha256(file).hexdigest()]


async def test_several_images_get_numbers_in_the_workspace(lab: Lab):
    made = await _call(lab, "text_to_image", prompt="x", count=2, output_path="a.png")
    assert made.result.data["paths"] == ["a-1.png", "a-2.png"]


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"<svg onload='x'/>", "unreadable_image"),
        (b"", "unreadable_image"),
        (png_of(60_000, 60_000), "image_too_large"),
        (png_of(500, 500), "unreadable_image"),
        (PNG[:40], "unreadable_image"),
    ],
)
async def test_what_is_no_image_is_refused_and_nothing_is_kept(lab: Lab, content: bytes, code: str):
    await lab.context["project"].operations.files.write("in.png", content)
    refused = await _call(lab, "image_to_image", prompt="x", image="in.png")
    assert (refused.status, refused.result.code) == ("error", code)
    assert await lab.rows("SELECT COUNT(*) FROM artifacts") == [(0,)]


async def test_an_image_outside_the_workspace_or_of_another_session_is_not_taken(lab: Lab):
    outside = await _call(lab, "image_to_image", prompt="x", image="../secret.png")
    assert outside.result.code == "outside_workspace"
    theirs = await _call(lab, "text_to_image", prompt="x", image_size="small")
    artifact_id = theirs.result.data["images"][0]["artifact_id"]
    other = lab.sessions.create(user_id="bob", project_id="default")
    request = CallRequest("c1", "image_to_image", {"prompt": "x", "image": artifact_id})
    (refused,) = await lab.run(request, log=other.log, user_id="bob")
    assert refused.status == "error"


async def test_no_more_images_than_the_operator_allows(lab: Lab):
    refused = await _call(lab, "text_to_image", prompt="x", count=5)
    assert (refused.status, refused.result.code) == ("error", "too_many_images")


async def test_without_a_provider_the_tools_are_off_and_say_which_setting_it_is(house: Lab):
    for name in ("text_to_image", "image_to_image"):
        refused = (await house.run(CallRequest("c1", name, {"prompt": "x", "image": "y"})))[0]
        assert refused.status == "disabled"
        assert "images.provider" in str(refused.result.error)


@pytest.fixture
async def maker() -> AsyncIterator[Maker]:
    async with making() as server:
        yield server


@pytest.mark.parametrize(
    "given", [b"<html><script>", b"\x89PNG\r\n\x1a\nrubbish", png_of(50_000, 50_000)]
)
async def test_a_provider_that_gives_no_image_is_not_believed(
    tmp_path: Path, template: Path, maker: Maker, given: bytes
):
    maker.answer = {"data": [{"b64_json": base64.b64encode(given).decode()}]}
    chosen = {"provider": "openai", "base_url": maker.url, "api_key": "sk-secret-123456789"}
    settings = settings_for(tmp_path / "data", template, images=chosen)
    async with open_lab(settings) as lab:
        refused = await _call(lab, "text_to_image", prompt="x")
        assert refused.status == "error"
        assert refused.result.code in ("unreadable_image", "image_too_large")
        assert await lab.rows("SELECT COUNT(*) FROM artifacts") == [(0,)]


async def test_the_key_of_the_provider_is_never_seen(tmp_path: Path, template: Path, maker: Maker):
    key = "plain-words-as-a-key"
    maker.status, maker.answer = 400, {"error": {"message": f"Bad key {key}"}}
    chosen = {"provider": "openai", "base_url": maker.url, "api_key": key}
    settings = settings_for(tmp_path / "data", template, images=chosen)
    async with open_lab(settings) as lab:
        refused = await _call(lab, "text_to_image", prompt="x")
        assert maker.asked[0].headers["authorization"] == f"Bearer {key}"
        seen = str(refused.result) + str(lab.watcher.events)
        seen += str(await lab.rows("SELECT result, text FROM tool_calls"))
        seen += str(await lab.rows("SELECT detail FROM audit"))
    assert "Bad key" in seen
    assert key not in seen


def test_rules_on_paths_see_the_images_of_a_call():
    artifact = "art_" + "0" * 24
    assert paths_among({"prompt": "x", "image": "a/b.png"}) == ["a/b.png"]
    assert paths_among({"reference_images": ["c.png", artifact]}) == ["c.png"]
    assert paths_among({"image": artifact}) == []
    assert text_to_image.paths_in is paths_among is image_to_image.paths_in
