"""Checks of `tollgate doctor` on channels of notifications."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from app.channels.notifications.sender import ChannelTrouble
from app.core.escaping import visible
from app.execution.doctor.check import Check


def notification_checks(troubles: Sequence[ChannelTrouble]) -> Iterator[Check]:
    """Check for channels whose last message was not delivered."""
    for trouble in troubles:
        yield Check(
            "notification_channel",
            "warning",
            "notification_channel.failing",
            channel=visible(trouble.name),
            error=visible(trouble.error),
            since=trouble.since,
        )
