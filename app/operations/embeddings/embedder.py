"""Protocol of embedding models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

MAX_TEXTS = 64
"""Maximum number of texts per request."""
MAX_CHARS = 6_000
"""Maximum characters of one text; such models accept about 8,000 tokens."""

Vector = Sequence[float]


class TextRefused(Exception):
    """The server refuses one of the texts."""


class EmbedderFailed(Exception):
    """No usable response; the message is safe for a log and contains no key."""


class Embedder(Protocol):
    """Conversion of texts to vectors; similar meanings have similar directions.

    Attributes:
        model: name of the model; vectors of different models are not comparable.
    """

    @property
    def model(self) -> str: ...

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Return a vector for each text, in order, all of one length.

        Args:
            texts: 1 to `MAX_TEXTS`, none empty; characters beyond `MAX_CHARS` are ignored.

        Raises:
            TextRefused: one of them is refused.
            EmbedderFailed: the request failed as a whole.
        """
