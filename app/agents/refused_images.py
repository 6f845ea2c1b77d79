"""Images that a provider has refused: what is sent from then on is a note in their place.

A conversation is sent as a whole with each request, so one image that a provider does not take
would fail all that follow, also after a restart.
"""

from __future__ import annotations

from collections.abc import Sequence

from app.agents.context.images import Message, image_keys
from app.agents.sessions import Session
from app.core.text import dump_json
from app.db.refused_images import REFUSED_IMAGES, with_refused
from app.db.statements import KEEP_REFUSED
from app.db.writer import DatabaseWriter

IMAGE_ROUNDS = 2
"Number of retries of a request with fewer images: without the newest, then without any."


def refused_images(session: Session, model: str) -> frozenset[str]:
    """The images of a session that this model's provider does not take."""
    return frozenset(session.meta.get(REFUSED_IMAGES, {}).get(model, ()))


def refuse_images(
    session: Session, db: DatabaseWriter, model: str, messages: Sequence[Message]
) -> None:
    """Remember which of the images in `messages` the provider has refused.

    It does not say which. Those before its last answer it has taken, so the newer ones are
    suspected first, and all when there is no other.
    """
    known = refused_images(session, model)
    answers = [at for at, message in enumerate(messages) if message["role"] == "assistant"]
    last = answers[-1] if answers else 0
    newest = [key for key in image_keys(messages[last:]) if key not in known]
    refused = newest or image_keys(messages)
    session.meta[REFUSED_IMAGES] = with_refused(
        session.meta.get(REFUSED_IMAGES, {}), model, refused
    )
    db.append(KEEP_REFUSED, (dump_json([model, refused]).decode(), session.id))
