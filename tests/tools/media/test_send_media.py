"""`send_media` on a workspace in memory."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.operations.fakes.workspace import fake_workspace
from app.toolkit.context import ToolContext
from app.toolkit.ports import ARTIFACTS
from app.toolkit.services import Services
from app.tools.media.send_media import send_media
from tests.tools.calls import call
from tests.tools.media.kept import Kept

PNG = b"\x89PNG\r\n\x1a\n" + b"0" * 20


@pytest.fixture
def kept() -> Kept:
    return Kept()


@pytest.fixture
def chat(ctx: ToolContext, kept: Kept) -> ToolContext:
    operations = fake_workspace(
        {
            "a/cat.png": PNG,
            "report.pdf": b"%PDF-1.7",
            "page.html": "<script>",
            "drawing.svg": "<svg/>",
            "fake.png": "<script>",
            "renamed.jpg": PNG,
            "huge.zip": b"0" * ((20 << 20) + 1),
        }
    )
    return replace(
        ctx,
        session_id="session_1",
        services=Services(**{ARTIFACTS: kept}),
        bound_operations=operations,
    )


@pytest.mark.requirement("MED-02")
async def test_an_image_appears_in_the_chat(chat: ToolContext, kept: Kept):
    result = await call(send_media, chat, file_paths=["a/cat.png"])
    sent = {
        "path": "a/cat.png",
        "name": "cat.png",
        "media_type": "image/png",
        "size": len(PNG),
        "artifact_id": "art_0",
        "url": "/api/v1/artifacts/art_0",
    }
    assert result.data == {"message": "", "sent": [sent], "failed": []}
    assert kept.files == {"art_0": ("image/png", PNG)}
    assert result.raw_result is not None
    assert result.raw_result.to_dict() == {"type": "image", "data": {"images": [sent]}}


@pytest.mark.requirement("MED-02")
async def test_some_files_are_sent_and_the_others_are_reported(chat: ToolContext, kept: Kept):
    paths = ["report.pdf", "missing.png", "page.html", "drawing.svg", "fake.png", "huge.zip"]
    result = await call(send_media, chat, files=[*paths, "../out.png"], caption="Look")
    assert result.success
    assert [file["path"] for file in result.data["sent"]] == ["report.pdf"]
    assert [file["path"] for file in result.data["failed"]] == [*paths[1:], "../out.png"]
    assert [kind for kind, _ in kept.files.values()] == ["application/pdf"]
    assert result.raw_result is not None
    assert result.raw_result.type == "json"
    assert result.raw_result.data["message"] == "Look"


async def test_an_image_is_what_its_bytes_say(chat: ToolContext):
    result = await call(send_media, chat, file_paths=["renamed.jpg"])
    assert result.data["sent"][0]["media_type"] == "image/png"


async def test_nothing_sent_is_a_failure(chat: ToolContext, kept: Kept):
    result = await call(send_media, chat, file_paths=["page.html"])
    assert (result.success, kept.files) == (False, {})
    chat.session_id = None
    assert (await call(send_media, chat, file_paths=["a/cat.png"])).success is False
