"""HTTP requests of transports, and what a provider's answer means."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime

import orjson

from app.channels.notifications.kinds import TransportServices, origin_of
from app.channels.notifications.transport import DeliveryFailed, DeliveryUncertain
from app.core.errors import ToolFailed
from app.operations.web.protocol import NO_HEADERS, NotConnected, WebResponse

TIMEOUT_S = 20.0
MAX_ANSWER_BYTES = 65_536
_LATER = frozenset({408, 425, 429})
_GONE = 410
# Sent, perhaps, and not answered; the other codes end before anything is sent.
_UNCERTAIN = frozenset({"fetch_failed", "timeout", "file_too_large"})


class HttpSender:
    """Sends to the addresses of one channel, which an administrator has stored."""

    def __init__(self, services: TransportServices) -> None:
        self._services = services

    async def post(
        self,
        url: str,
        body: object,
        *,
        method: str = "POST",
        headers: Mapping[str, str] = NO_HEADERS,
    ) -> WebResponse:
        """Send JSON; return the provider's answer, a success.

        Args:
            body: bytes are sent unchanged.

        Raises:
            DeliveryFailed: the provider did not take it; the reason names only its origin.
        """
        encoded = body if isinstance(body, bytes) else orjson.dumps(body)
        origin = origin_of(url)
        try:
            answer = await self._services.web().request(
                method,
                url,
                headers={"Content-Type": "application/json", **headers},
                body=encoded,
                timeout_s=TIMEOUT_S,
                max_bytes=MAX_ANSWER_BYTES,
                trusted=origin,
            )
        except ToolFailed as error:
            code = error.details.get("code", error.code)
            is_sent = code in _UNCERTAIN and not isinstance(error, NotConnected)
            kind = DeliveryUncertain if is_sent else DeliveryFailed
            raise kind(f"{origin} did not answer ({code})") from None
        if not answer.ok:
            raise self._refused(origin, answer)
        return answer

    def _refused(self, origin: str, answer: WebResponse) -> DeliveryFailed:
        status = answer.status
        later = status in _LATER or status >= 500
        return DeliveryFailed(
            f"{origin} answered {status}",
            permanent=not later,
            gone=status == _GONE,
            retry_after_s=self._wait(answer.header("retry-after")) if later else None,
        )

    def _wait(self, header: str | None) -> float | None:
        """Return the seconds of a `Retry-After` header: a number or a date."""
        if header is None:
            return None
        try:
            return max(0.0, float(header))
        except ValueError:
            pass
        try:
            moment: datetime = parsedate_to_datetime(header)
        except ValueError:
            return None
        return max(0.0, moment.timestamp() - self._services.clock.time())
