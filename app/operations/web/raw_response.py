"""What a server answers, apart from the HTTP client: who keeps pages needs no connections."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RawResponse:
    """What one address answers; header names in lower case, the body decoded."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes

    def header(self, name: str) -> str | None:
        """The first header of that name, in lower case."""
        return next((value for key, value in self.headers if key == name), None)
