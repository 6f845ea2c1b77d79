"""Kinds of channels, by name. Another kind is a module of its own and one line here.

`web_push` is missing: it is made from the settings and keys of the service.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from app.channels.notifications.discord import DISCORD
from app.channels.notifications.kinds import TransportKind
from app.channels.notifications.mattermost import MATTERMOST
from app.channels.notifications.ntfy import NTFY
from app.channels.notifications.slack import SLACK
from app.channels.notifications.smtp import SMTP_MAIL
from app.channels.notifications.teams import TEAMS
from app.channels.notifications.telegram import TELEGRAM
from app.channels.notifications.webhook import WEBHOOK

TRANSPORTS: Mapping[str, TransportKind] = MappingProxyType(
    {
        kind.name: kind
        for kind in (
            DISCORD,
            MATTERMOST,
            NTFY,
            SLACK,
            SMTP_MAIL,
            TEAMS,
            TELEGRAM,
            WEBHOOK,
        )
    }
)
