"""Signatures of deliveries: HMAC-SHA256 over the timestamp, a dot and the body."""

from __future__ import annotations

import hmac
import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

HEADER = "X-Tollgate-Signature"
WINDOW_S = 300
_SIGNATURE = re.compile(r"t=([0-9]{1,12}),v1=([0-9a-f]{64})")


@dataclass(frozen=True, slots=True)
class Signature:
    """Received signature.

    Attributes:
        moment: Unix time from the sender.
        mac: hexadecimal.
    """

    moment: str
    mac: str

    def is_timely(self, now: float) -> bool:
        """Return whether it was created within the time window around `now`."""
        return abs(now - int(self.moment)) <= WINDOW_S

    def fits(self, secret: bytes, body: bytes) -> bool:
        """Return whether the holder of the secret signed this body, in constant time."""
        made = hmac.new(secret, self.moment.encode() + b"." + body, sha256).hexdigest()
        return hmac.compare_digest(made, self.mac)

    def digest(self, webhook_id: str) -> str:
        """Return the digest that identifies the delivery, so that it is not accepted twice."""
        return sha256(f"{webhook_id}\0{self.moment}\0{self.mac}".encode()).hexdigest()


def read_signature(values: Sequence[str]) -> Signature | None:
    """Return the signature in a request's headers; None unless exactly one is well-formed."""
    found = _SIGNATURE.fullmatch(values[0]) if len(values) == 1 else None
    return None if found is None else Signature(found[1], found[2])
