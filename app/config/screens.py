"""Settings of the tool `screenshot`."""

from __future__ import annotations

from pydantic import Field

from app.config.sections import Section


class ScreenSettings(Section):
    """Pictures of web pages and of the desktop."""

    browser: str | None = Field(
        default=None,
        description="Path of Chromium's headless shell; found automatically when unset.",
    )
    allow_private: bool = Field(
        default=False,
        description="Allow screenshots of pages on loopback and in private networks.",
    )
    desktop: bool = Field(
        default=True, description="Allow screenshots of the desktop, if there is an X11 display."
    )
