"""Another system that signs what it sends."""

from __future__ import annotations

import hmac
from hashlib import sha256


def signed(secret: str, moment: float, body: bytes) -> str:
    """The header of a delivery."""
    mac = hmac.new(secret.encode(), f"{int(moment)}.".encode() + body, sha256)
    return f"t={int(moment)},v1={mac.hexdigest()}"
