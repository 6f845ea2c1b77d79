"""Settings of the tool `screenshot`."""

from __future__ import annotations

from pydantic import Field

from app.core.sections import Section


class ScreenSettings(Section):
    """Pictures of web pages and of the desktop."""

    browser: str | None = Field(
        default=None, description="Chromium's headless shell; looked for when unset."
    )
    allow_private: bool = Field(
        default=False,
        description="Pages on loopback and in private networks may be pictured too.",
    )
    desktop: bool = Field(
        default=True, description="The desktop may be pictured, where there is an X11 display."
    )
