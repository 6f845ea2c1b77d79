"""Settings of the tool `get_weather`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from app.core.sections import Section

Provider = Literal["open-meteo", "simulated", "off"]


class WeatherSettings(Section):
    """Where the weather comes from."""

    provider: Provider = Field(
        default="open-meteo",
        description="Open-Meteo needs no key; `simulated` has a few fixed values for trials.",
    )
    geocoding_url: str = Field(
        default="https://geocoding-api.open-meteo.com/v1/search",
        pattern=r"^https?://[^\s?#]+$",
        description="Finds a city's place; a server of your own speaks the same format.",
    )
    forecast_url: str = Field(
        default="https://api.open-meteo.com/v1/forecast",
        pattern=r"^https?://[^\s?#]+$",
        description="Tells the weather of a place.",
    )
