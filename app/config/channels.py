"""Settings of channels and of the desktop tasks that they cause."""

from __future__ import annotations

from pydantic import Field

from app.config.sections import Section

MAX_WAIT_S = 600


class ChannelSettings(Section):
    """Texts that desktop operators send, and how operators are watched."""

    wait_s: float = Field(
        default=60,
        gt=0,
        le=MAX_WAIT_S,
        description="Seconds a call waits for a desktop operator before its task expires.",
    )
    lease_s: float = Field(
        default=30,
        ge=1,
        le=600,
        description="Seconds without a heartbeat after which a desktop operator is considered "
        "lost.",
    )
    max_queued: int = Field(
        default=100, ge=1, description="Maximum number of waiting desktop tasks."
    )
    max_operators: int = Field(
        default=5, ge=1, description="Maximum number of desktop operators connected with one token."
    )
    per_minute: int = Field(
        default=20, ge=1, description="Default number of messages per minute and channel."
    )
    history_days: int = Field(
        default=30, ge=0, description="Days to keep finished desktop tasks; 0 keeps them forever."
    )
