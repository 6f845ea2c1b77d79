"""Who turns texts into vectors, as a Protocol."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

MAX_TEXTS = 64
"Maximum number of texts per request."
MAX_CHARS = 6_000
"Maximum characters of one text; such models read about 8,000 tokens."

Vector = Sequence[float]


class TextRefused(Exception):
    """The server answers, and refuses what one of the texts is."""


class EmbedderFailed(Exception):
    """No answer, or none that can be used; the message is fit for a log and holds no key."""


class Embedder(Protocol):
    """Texts → vectors. Texts that mean alike have vectors that point alike.

    Attributes:
        model: vectors of two models cannot be compared.
    """

    @property
    def model(self) -> str: ...

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """A vector for each text, in their order, all of one length.

        Args:
            texts: 1 to `MAX_TEXTS`, none of them empty; what is beyond `MAX_CHARS` is not read.

        Raises:
            TextRefused: one of them cannot be taken.
            EmbedderFailed: nothing can be said about any.
        """
