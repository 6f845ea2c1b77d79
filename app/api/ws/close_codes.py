"""Close codes. 4000 to 4499: reconnect and resume; 4500 to 4999: do not reconnect."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Close:
    """A close code and its reason, at most 123 bytes."""

    code: int
    reason: str


GONE = Close(1000, "")
INTERNAL = Close(4000, "internal")
SHUTDOWN = Close(4001, "shutdown")
SLOW_CONSUMER = Close(4003, "slow_consumer: resume from your last seq")
TOKEN_EXPIRED = Close(4005, "token_expired: get a new one first")
RATE_LIMITED = Close(4006, "rate_limited")
BAD_FRAME = Close(4500, "bad_frame")
UNAUTHENTICATED = Close(4501, "unauthenticated")
HELLO_TIMEOUT = Close(4502, "hello_timeout: send hello first")
FORBIDDEN = Close(4503, "forbidden: host or origin not allowed")
UNSUPPORTED_VERSION = Close(4504, "unsupported_version: offer tollgate.v1")
CONNECTION_LIMIT = Close(4505, "connection_limit")
REVOKED = Close(4506, "revoked")
PROTOCOL_VIOLATION = Close(4507, "protocol_violation: hello comes first, and once")

ALL = (
    INTERNAL,
    SHUTDOWN,
    Close(4002, "heartbeat_timeout"),
    SLOW_CONSUMER,
    Close(4004, "rebalance"),
    TOKEN_EXPIRED,
    RATE_LIMITED,
    BAD_FRAME,
    UNAUTHENTICATED,
    HELLO_TIMEOUT,
    FORBIDDEN,
    UNSUPPORTED_VERSION,
    CONNECTION_LIMIT,
    REVOKED,
    PROTOCOL_VIOLATION,
)
