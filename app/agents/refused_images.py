"""Images refused by a provider; later requests contain a note instead.

A conversation is sent as a whole with each request, so one refused image would fail all later ones,
even after a restart.
"""

from __future__ import annotations

from collections.abc import Sequence

from app.agents.context.images import Message, image_keys
from app.agents.sessions import Session, Sessions
from app.db.refused_images import REFUSED_IMAGES

IMAGE_ROUNDS = 2
"""Number of retries of a request with fewer images: without the newest, then without any."""


def refused_images(session: Session, model: str) -> frozenset[str]:
    """Return the images of a session that this model's provider refuses."""
    return frozenset(session.meta.get(REFUSED_IMAGES, {}).get(model, ()))


def refuse_images(
    sessions: Sessions, session: Session, model: str, messages: Sequence[Message]
) -> None:
    """Record which images in `messages` the provider has refused.

    The provider does not name them. It accepted those before its last response, so newer ones are
    suspected first, and all if there are no newer ones.
    """
    known = refused_images(session, model)
    answers = [at for at, message in enumerate(messages) if message["role"] == "assistant"]
    last = answers[-1] if answers else 0
    newest = [key for key in image_keys(messages[last:]) if key not in known]
    sessions.refuse_images(session, model, newest or image_keys(messages))
