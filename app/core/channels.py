"""Settings of channels and of the desktop tasks that they cause."""

from __future__ import annotations

from pydantic import Field

from app.core.sections import Section

MAX_WAIT_S = 600


class ChannelSettings(Section):
    """Texts that desktop operators send, and how operators are watched."""

    wait_s: float = Field(
        default=60,
        gt=0,
        le=MAX_WAIT_S,
        description="Seconds a call waits for a desktop operator; then its task has expired.",
    )
    lease_s: float = Field(
        default=30,
        ge=1,
        le=600,
        description="Seconds without a sign of life after which a desktop operator is lost.",
    )
    max_queued: int = Field(
        default=100, ge=1, description="Desktop tasks that may wait at the same time."
    )
    max_operators: int = Field(
        default=5, ge=1, description="Desktop operators that one token may connect."
    )
    per_minute: int = Field(
        default=20, ge=1, description="Texts per minute of a channel that names no number."
    )
    history_days: int = Field(
        default=30, ge=0, description="Days a finished desktop task is kept; 0: for ever."
    )
