"""The images API: what is asked, and what answers mean."""

from __future__ import annotations

import base64
import zlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

from app.config.images import ImageSettings
from app.core.errors import ToolFailed
from app.operations.images.openai_compatible import OpenAiImages
from app.operations.images.provider import ImageOrder, nearest_size
from app.operations.protocols.operations import Operations
from tests.support.model_api import PNG, Maker, making

KEY = "sk-very-secret-key-1234567890"
ORDER = ImageOrder("a cat", 1536, 1024)
B64 = base64.b64encode(PNG).decode()


@pytest.fixture
async def maker() -> AsyncIterator[Maker]:
    async with making() as server:
        yield server


@pytest.fixture
def nowhere(local: Operations) -> Operations:
    return local


async def _make(maker: Maker, operations: Operations, order: ImageOrder = ORDER, **more: Any):
    settings = ImageSettings(provider="openai", base_url=maker.url, api_key=KEY, **more)
    return await OpenAiImages(settings).make(order, operations)


@pytest.mark.requirement("IMG-01")
async def test_words_are_sent_with_the_nearest_size_and_an_image_comes_back(maker, nowhere):
    assert await _make(maker, nowhere) == [PNG]
    (asked,) = maker.asked
    assert asked.path == "/v1/images/generations"
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert asked.json() == {
        "model": "gpt-image-1",
        "prompt": "a cat",
        "n": 1,
        "size": "1536x1024",
    }


async def test_older_models_are_asked_to_answer_with_the_image_itself(maker, nowhere):
    await _make(maker, nowhere, model="dall-e-3", sizes="1024x1024, 1792x1024")
    assert maker.asked[0].json()["response_format"] == "b64_json"
    assert maker.asked[0].json()["size"] == "1792x1024"


@pytest.mark.requirement("IMG-01")
async def test_an_image_to_begin_with_goes_as_a_form(maker, nowhere):
    order = ImageOrder("a dog", 1024, 1024, images=(PNG,), strength=0.2)
    await _make(maker, nowhere, order)
    (asked,) = maker.asked
    assert asked.path == "/v1/images/edits"
    assert asked.headers["content-type"].startswith("multipart/form-data")
    assert PNG in asked.body
    assert b'name="input_fidelity"\r\n\r\nhigh' in asked.body
    assert b'name="image"' in asked.body


async def test_several_images_are_a_list(maker, nowhere):
    await _make(maker, nowhere, ImageOrder("x", 64, 64, images=(PNG, PNG)))
    assert maker.asked[0].body.count(b'name="image[]"') == 2


async def test_a_provider_gives_no_more_than_was_ordered(maker, nowhere):
    maker.answer = {"data": [{"b64_json": B64}] * 5}
    assert await _make(maker, nowhere, ImageOrder("x", 64, 64, count=2)) == [PNG, PNG]


@pytest.mark.parametrize(
    ("status", "error", "code"),
    [
        (400, {"code": "content_policy_violation", "message": "No."}, "content_refused"),
        (400, {"code": "moderation_blocked", "message": "No."}, "content_refused"),
        (401, {"message": f"Incorrect API key provided: {KEY}"}, "provider_refused"),
        (403, None, "provider_refused"),
        (429, {"code": "rate_limit_exceeded"}, "rate_limited"),
        (429, {"code": "insufficient_quota"}, "quota_exceeded"),
        (400, {"message": "Invalid size"}, "provider_failed"),
        (500, "text", "provider_failed"),
    ],
)
async def test_a_refusal_is_distinguished_and_never_shows_the_key(
    maker, nowhere, status: int, error: object, code: str
):
    maker.status, maker.answer = status, {"error": error}
    with pytest.raises(ToolFailed) as raised:
        await _make(maker, nowhere)
    assert raised.value.details["code"] == code
    assert KEY not in str(raised.value) + str(raised.value.details)


@pytest.mark.parametrize(
    "answer",
    [
        b"<html>",
        b"",
        [],
        {"data": None},
        {"data": [{"url": "http://127.0.0.1/secret"}]},
        {"data": [{"b64_json": "no base64!"}]},
        {"data": ["x", {"b64_json": 7}]},
    ],
)
async def test_an_answer_without_an_image_is_a_failure(maker, nowhere, answer: object):
    maker.answer = answer
    with pytest.raises(ToolFailed) as raised:
        await _make(maker, nowhere)
    assert raised.value.details["code"] == "provider_failed"


async def test_a_redirect_does_not_take_the_key_elsewhere(maker, nowhere):
    async with making() as elsewhere:
        maker.status, maker.location = 307, f"{elsewhere.url}/images/generations"
        with pytest.raises(ToolFailed):
            await _make(maker, nowhere)
        assert elsewhere.asked == []


async def test_an_endless_answer_is_cut(maker, nowhere, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("app.operations.images.openai_compatible._ANSWER_PER_IMAGE", 1 << 20)
    maker.endless = True
    with pytest.raises(ToolFailed, match="too large"):
        await _make(maker, nowhere)


async def test_a_silent_provider_runs_into_the_time_limit(maker, nowhere):
    maker.silent = True
    with pytest.raises(ToolFailed) as raised:
        await _make(maker, nowhere, timeout_s=0.2)
    assert raised.value.details["code"] == "timeout"


async def test_a_provider_that_is_not_there_is_a_clean_failure(nowhere):
    async with making() as gone:
        pass
    with pytest.raises(ToolFailed) as raised:
        await _make(gone, nowhere)
    assert raised.value.details["code"] == "provider_failed"


@pytest.mark.parametrize(
    ("wanted", "size"),
    [((1024, 680), (1536, 1024)), ((576, 1024), (1024, 1536)), ((64, 64), (512, 512))],
)
def test_the_nearest_shape_wins_and_then_the_nearest_area(wanted, size):
    sizes = [(1024, 1024), (512, 512), (1536, 1024), (1024, 1536)]
    width, height = wanted
    assert nearest_size(width, height, sizes) == size


@pytest.mark.parametrize("sizes", ["", "1024", "0x5", "1024x99999", "axb"])
def test_sizes_that_are_none_are_refused(sizes: str):
    with pytest.raises(ValueError, match="size"):
        ImageSettings(sizes=sizes)


async def test_an_answer_packed_twice_is_not_unpacked(maker, nowhere):
    """Unpacked, one piece of it would be a gigabyte."""
    packed = zlib.compress(b"{" + b" " * (1 << 20), 9, wbits=31)
    maker.answer, maker.encoding = zlib.compress(packed, 9, wbits=31), "gzip, gzip"
    with pytest.raises(ToolFailed) as refusal:
        await _make(maker, nowhere)
    assert refusal.value.details["code"] == "provider_failed"
    assert maker.asked[0].headers["accept-encoding"] == "identity"
