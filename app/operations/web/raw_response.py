"""Raw response of a server, independent of the HTTP client, for the cache."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RawResponse:
    """Response of one address; header names in lower case, the body decoded."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes

    def header(self, name: str) -> str | None:
        """Return the first header with the name, in lower case."""
        return next((value for key, value in self.headers if key == name), None)
