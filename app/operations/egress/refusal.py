"""Refusals of connections, and where allowed ones lead."""

from __future__ import annotations

from typing import Literal

Destination = tuple[str, int]
"""Address and port."""

RefusalCode = Literal[
    "not_allowed",
    "address_refused",
    "mismatch",
    "bad_request",
    "unreachable",
    "limit_exceeded",
]


class ConnectionRefused(Exception):
    """A connection that is not made.

    Attributes:
        code: its kind.
        reason: one line for the program, the model and people.
    """

    def __init__(self, code: RefusalCode, reason: str) -> None:
        super().__init__(reason)
        self.code: RefusalCode = code
        self.reason = reason


def not_allowed(host: str, port: int | None) -> ConnectionRefused:
    """Return the refusal of a host that is not on the list."""
    shown = f"[{host}]" if ":" in host else host
    named = shown if port is None else f"{shown}:{port}"
    return ConnectionRefused("not_allowed", f"{named} is not an allowed host of this project")
