"""Kinds of channels, by name. Another kind is a module of its own and one line here."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from app.channels.notifications.discord import DISCORD
from app.channels.notifications.kinds import TransportKind
from app.channels.notifications.mattermost import MATTERMOST
from app.channels.notifications.ntfy import NTFY
from app.channels.notifications.smtp import SMTP_MAIL
from app.channels.notifications.teams import TEAMS
from app.channels.notifications.webhook import WEBHOOK

TRANSPORTS: Mapping[str, TransportKind] = MappingProxyType(
    {
        kind.name: kind
        for kind in (
            DISCORD,
            MATTERMOST,
            NTFY,
            SMTP_MAIL,
            TEAMS,
            WEBHOOK,
        )
    }
)
