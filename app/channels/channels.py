"""Assembly of the channel services."""

from __future__ import annotations

from dataclasses import dataclass

from app.channels.desktop import DesktopOpService
from app.channels.notifier import TaskNotifier
from app.channels.operators import OperatorService
from app.channels.store import ChannelStore
from app.channels.texts import WeixinTexts
from app.config.channels import ChannelSettings
from app.core.clock import Clock
from app.db.writer import DatabaseWriter
from app.domain.channels import CHANNEL_TEXTS
from app.governance.audit.log import AuditLog
from app.governance.config_versions import ConfigVersions
from app.toolkit.services import Services


@dataclass(frozen=True, slots=True)
class Channels:
    """Stored channels, their tasks, and the operators."""

    store: ChannelStore
    desktop: DesktopOpService
    operators: OperatorService
    texts: WeixinTexts

    def offer(self, services: Services) -> None:
        """Register the service for tools."""
        services.register(CHANNEL_TEXTS, self.texts)


def assemble_channels(
    settings: ChannelSettings,
    db: DatabaseWriter,
    clock: Clock,
    *,
    audit: AuditLog,
    changes: ConfigVersions,
) -> Channels:
    """Bind the parts."""
    news = TaskNotifier()
    store = ChannelStore(db, clock, audit, changes)
    desktop = DesktopOpService(db, clock, audit, changes, news, settings)
    operators = OperatorService(db, clock, audit, store, news, settings)
    return Channels(store, desktop, operators, WeixinTexts(store, desktop, settings))
