"""Images of users and of tools, and what becomes of old ones."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import pytest

from app.agents.content import user_content
from app.agents.context.images import (
    KEPT_IMAGES,
    MAX_IMAGE_BYTES,
    MAX_PER_RESULT,
    MOST_IMAGES,
    image_blocks,
    with_images,
)
from app.config.settings import Settings
from app.core.errors import ToolFailed
from app.toolkit.result import RawResult
from tests.agents.office import open_office
from tests.support.scripted_anthropic.turns import Turn, http_error, text, tool_use

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 24


def shown(*sizes: int) -> RawResult:
    images = [
        {"artifact_id": f"art_{at}", "media_type": "image/png", "size": size}
        for at, size in enumerate(sizes)
    ]
    return RawResult("image", {"images": images})


async def load(artifact_id: str) -> bytes:
    if artifact_id == "text":
        return b"no image"
    if artifact_id == "gone":
        raise ToolFailed("Artifact not found")
    return PNG + artifact_id.encode()


def seen(artifact_id: str) -> dict[str, Any]:
    source = {"type": "artifact", "artifact_id": artifact_id, "media_type": "image/png", "size": 9}
    return {"type": "image", "source": source}


def test_images_of_a_result_are_kept_by_their_artifact():
    (block,) = image_blocks(shown(10))
    assert block["source"]["artifact_id"] == "art_0"
    assert "data" not in block["source"]


def test_too_large_too_many_and_strange_images_are_left_out():
    assert image_blocks(shown(MAX_IMAGE_BYTES + 1)) == []
    # Less than nothing would make room for others.
    assert image_blocks(shown(-1_000_000_000, 0)) == []
    assert len(image_blocks(shown(*[9] * 10))) == MAX_PER_RESULT
    assert image_blocks(None) == image_blocks(RawResult("text", "x")) == []
    svg = {"artifact_id": "a", "media_type": "image/svg+xml", "size": 3}
    assert image_blocks(RawResult("image", {"images": [svg]})) == []


async def test_an_artifact_becomes_its_bytes_and_one_that_is_gone_a_note():
    result = {"type": "tool_result", "tool_use_id": "t", "content": [seen("art_1"), seen("gone")]}
    (message,) = await with_images([{"role": "user", "content": [result]}], load)
    image, note = message["content"][0]["content"]
    assert image["source"]["data"] == b64encode(PNG + b"art_1").decode()
    assert "artifact gone" in note["text"]


@pytest.mark.parametrize(
    ("count", "notes"),
    [(MOST_IMAGES, 0), (MOST_IMAGES + 1, 8), (MOST_IMAGES + 8, 8), (MOST_IMAGES + 9, 16)],
)
async def test_of_many_images_the_oldest_become_notes_many_at_once(count: int, notes: int):
    messages = [{"role": "user", "content": [seen(f"art_{at}")]} for at in range(count)]
    kinds = [m["content"][0]["type"] for m in await with_images(messages, load)]
    assert kinds == ["text"] * notes + ["image"] * (count - notes)
    assert count - notes >= KEPT_IMAGES


async def test_large_images_of_a_user_are_bounded_in_all():
    data = "x" * 4_000_000
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}
    messages = [{"role": "user", "content": [image]} for _ in range(9)]
    reported = await with_images(messages, load)
    assert sum(len(str(message)) for message in reported) < 28_000_000
    assert reported[-1]["content"] == [image]


async def test_a_picture_that_a_tool_reads_and_one_of_the_user_reach_the_model(
    settings: Settings,
):
    turns = [Turn(tool_use("read_file", {"path": "dot.png"}, id="t1")), Turn(text("A dot."))]
    async with open_office(settings, *turns) as office:
        files = office.runtime.projects.get("default").operations.files
        await files.write("dot.png", PNG)
        source = {"type": "base64", "media_type": "image/png", "data": b64encode(PNG).decode()}
        said: list[dict[str, Any]] = [
            {"type": "text", "text": "Same?"},
            {"type": "image", "source": source},
        ]
        run_id, _ = await office.service.runs.send_message(office.session, user_content(said))
        assert (await office.ended(run_id))["status"] == "success"
        second = office.provider.requests[1]
        assert second.messages[0]["content"][1]["source"] == source
        (result,) = second.tool_results().values()
        assert result["content"][1] == {"type": "image", "source": source}
        entries = await office.service.archive.path(office.session.id, office.session.leaf)
        stored = next(entry for entry in entries if entry.role == "tool")
        assert '"artifact_id"' in stored.content
        assert source["data"] not in stored.content


async def test_what_only_calls_itself_an_image_is_reported_as_a_note():
    (message,) = await with_images([{"role": "user", "content": [seen("text")]}], load)
    assert "cannot be shown" in message["content"][0]["text"]


@pytest.mark.parametrize("images", [7, ["x"], [{"artifact_id": 3}], [{}]])
def test_results_of_another_shape_show_no_images(images: Any):
    assert image_blocks(RawResult("image", {"images": images})) == []


async def test_an_image_that_a_provider_cannot_read_does_not_end_the_session(settings: Settings):
    refusal = http_error(400, message="Could not process image")
    async with open_office(settings, refusal, Turn(text("None."))) as office:
        source = {"type": "base64", "media_type": "image/png", "data": "AAAA"}
        said: list[dict[str, Any]] = [
            {"type": "text", "text": "What?"},
            {"type": "image", "source": source},
        ]
        run_id, _ = await office.service.runs.send_message(office.session, user_content(said))
        assert (await office.ended(run_id))["status"] == "success"
        second = office.provider.requests[1]
        assert "An image is omitted" in second.last_user_text()
        assert office.watcher.of("context_compacted") == []
