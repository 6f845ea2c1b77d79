"""Images from a server with OpenAI's images API.

Fields follow its public reference: `POST images/generations` with JSON, `POST images/edits` with a
form; responses contain `data[].b64_json`.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections.abc import Mapping
from typing import Any, cast

import orjson
from pydantic import SecretStr

from app.config.images import ImageSettings
from app.core.errors import ToolFailed
from app.core.text import clean
from app.operations.images.provider import MAX_IMAGE_BYTES, ImageOrder, nearest_size
from app.operations.protocols.operations import Operations

_CONNECT_S = 10
_MAX_MESSAGE = 300
_MAX_REFUSAL = 1 << 16
# Base64 takes four bytes for three, and JSON a little more.
_ANSWER_PER_IMAGE = MAX_IMAGE_BYTES * 4 // 3 + (1 << 16)
_REFUSED_CONTENT = frozenset({"content_policy_violation", "moderation_blocked"})
_NO_QUOTA = frozenset({"insufficient_quota", "billing_hard_limit_reached"})


class OpenAiImages:
    """`ImageProvider` over HTTP. A redirect counts as a failure: it would send the key
    elsewhere.
    """

    name = "openai"
    simulated = False

    def __init__(self, settings: ImageSettings) -> None:
        self.model = settings.model
        self.max_count = settings.max_count
        self.timeout_s = settings.timeout_s
        self._base_url = settings.base_url.rstrip("/")
        self._key: SecretStr | None = settings.api_key
        self._sizes = [_pixels(size) for size in settings.sizes.split(",")]

    async def make(self, order: ImageOrder, operations: Operations) -> list[bytes]:
        width, height = nearest_size(order.width, order.height, self._sizes)
        fields: dict[str, Any] = {
            "model": self.model,
            "prompt": order.prompt,
            "n": order.count,
            "size": f"{width}x{height}",
        }
        if self.model.startswith("dall-e"):
            # Newer models always respond this way and refuse the field.
            fields["response_format"] = "b64_json"
        if not order.images:
            return await self._post("images/generations", {"json": fields}, order)
        if order.strength is not None and self.model.startswith("gpt-image"):
            fields["input_fidelity"] = "low" if order.strength > 0.5 else "high"
        name = "image" if len(order.images) == 1 else "image[]"
        files = [
            (name, (f"image{number}", data, "application/octet-stream"))
            for number, data in enumerate(order.images)
        ]
        form = {key: str(value) for key, value in fields.items()}
        return await self._post("images/edits", {"data": form, "files": files}, order)

    async def _post(self, path: str, request: Mapping[str, Any], order: ImageOrder) -> list[bytes]:
        """Return the images of the response."""
        import httpx2

        # Doubly compressed data could expand to gigabytes from one piece of the response.
        headers = {"accept": "application/json", "accept-encoding": "identity"}
        if self._key is not None:
            headers["authorization"] = f"Bearer {self._key.get_secret_value()}"
        timeout = httpx2.Timeout(self.timeout_s, connect=_CONNECT_S)
        try:
            async with (
                httpx2.AsyncClient(trust_env=False, timeout=timeout) as client,
                client.stream(
                    "POST", f"{self._base_url}/{path}", headers=headers, **request
                ) as response,
            ):
                body = await _read(response, order.count * _ANSWER_PER_IMAGE)
                status = response.status_code
        except httpx2.TimeoutException:
            raise ToolFailed("The image provider timed out", code="timeout") from None
        except httpx2.HTTPError as error:
            raise ToolFailed(
                f"The image provider is unreachable: {type(error).__name__}",
                code="provider_failed",
            ) from None
        if status != httpx2.codes.OK:
            raise _refusal(status, _object(body[:_MAX_REFUSAL]).get("error"))
        # Eight images are two hundred megabytes of text.
        return await asyncio.to_thread(lambda: _images(_object(body), order))


async def _read(response: Any, limit: int) -> bytes:
    body = bytearray()
    async for chunk in response.aiter_raw():
        body += chunk
        if len(body) > limit:
            raise ToolFailed("The image provider's response is too large", code="provider_failed")
    return bytes(body)


def _pixels(size: str) -> tuple[int, int]:
    width, _, height = size.strip().partition("x")
    return int(width), int(height)


def _object(body: bytes) -> dict[str, Any]:
    try:
        answer = orjson.loads(body)
    except orjson.JSONDecodeError:
        return {}
    return cast("dict[str, Any]", answer) if isinstance(answer, dict) else {}


def _images(answer: dict[str, Any], order: ImageOrder) -> list[bytes]:
    items = answer.get("data")
    encoded = [
        item["b64_json"]
        for item in (items if isinstance(items, list) else ())
        if isinstance(item, dict) and isinstance(item.get("b64_json"), str)
    ]
    if not encoded:
        raise ToolFailed(
            "The image provider's response contains no image (`b64_json`)", code="provider_failed"
        )
    try:
        return [base64.b64decode(text, validate=True) for text in encoded[: order.count]]
    except (binascii.Error, ValueError):
        raise ToolFailed(
            "The image provider's response is malformed", code="provider_failed"
        ) from None


def _refusal(status: int, error: Any) -> ToolFailed:
    """Return the error of a refusal; with the server's message only if it cannot contain the
    key.
    """
    details = error if isinstance(error, dict) else {}
    code = details.get("code")
    said = clean(str(details.get("message") or f"status {status}"))[:_MAX_MESSAGE]
    if status in (401, 403):
        return ToolFailed(
            "The image provider refused the service's key; the operator must set "
            "TOLLGATE_IMAGES__API_KEY",
            code="provider_refused",
        )
    if code in _REFUSED_CONTENT:
        return ToolFailed(
            f"The image provider refused this request: {said}", code="content_refused"
        )
    if code in _NO_QUOTA:
        return ToolFailed("The image provider's quota is exhausted", code="quota_exceeded")
    if status == 429:
        return ToolFailed(
            "The image provider's rate limit is reached; try again later", code="rate_limited"
        )
    return ToolFailed(f"The image provider failed: {said}", code="provider_failed")
