"""Settings of the tool `get_weather`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from app.config.sections import Section

Provider = Literal["open-meteo", "simulated", "off"]


class WeatherSettings(Section):
    """Weather provider."""

    provider: Provider = Field(
        default="open-meteo",
        description="Weather provider: `open-meteo` needs no key; `simulated` returns a few fixed "
        "values for testing.",
    )
    geocoding_url: str = Field(
        default="https://geocoding-api.open-meteo.com/v1/search",
        pattern=r"^https?://[^\s?#]+$",
        description="URL of the geocoding API that finds cities; a custom server must use the "
        "same format.",
    )
    forecast_url: str = Field(
        default="https://api.open-meteo.com/v1/forecast",
        pattern=r"^https?://[^\s?#]+$",
        description="URL of the forecast API; a custom server must use the same format.",
    )
