"""Messages between the service and the proxy process: JSON objects, one per SEQPACKET message.

From the service:

    {"type": "open", "session": 7, "hosts": [...], "proxy_port": 3128}   with one descriptor: the
        socket on which the sandbox will hand over its listening sockets
    {"type": "verdict", "question": 12, "destinations": [["203.0.113.7", 443], ...]}
    {"type": "verdict", "question": 12, "refused": "why", "code": "..."}

From the proxy:

    {"type": "question", "question": 12, "session": 7, "host": "a.example", "port": 443}
    {"type": "opened", "session": 7, "connection": 3, "host", "port"}
    {"type": "closed", "session": 7, "connection": 3, "bytes_up", "bytes_down", "duration_s"}
        with "code" and "reason" if it was refused after all, by its first bytes or the host
    {"type": "refused", "session": 7, "host", "port", "code", "reason"}
    {"type": "ended", "session": 7, "unreported": 0}

Every connection has an `opened` and a `closed` message, or one `refused`, unless a session has too
many of these: then `ended`, its last message, says how many were `unreported`.
"""

from __future__ import annotations

import json
from typing import Any

MAX_BYTES = 160 << 10
"""Maximum size of a message; the kernel's buffer of a socket is larger."""

Message = dict[str, Any]


def encode(message: Message) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode()


def decode(data: bytes) -> Message:
    """Return the message.

    Raises:
        ValueError: it is not JSON.
    """
    message: Message = json.loads(data)
    return message
