"""Request and report of a weather provider."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

from app.toolkit.services import Services

WEATHER = "weather"

Units = Literal["metric", "imperial"]
Language = Literal["en", "zh"]


@dataclass(frozen=True, slots=True)
class WeatherQuery:
    """`days` is the number of forecast days; 0 for none."""

    city: str
    days: int = 0
    units: Units = "metric"
    language: Language = "en"


@dataclass(frozen=True, slots=True)
class WeatherReport:
    """Weather of one place.

    Attributes:
        city: matched place.
        temperature: degrees Celsius, or Fahrenheit with imperial units.
        humidity: relative, in percent.
        description: in the requested language.
        details: additional data of the provider, JSON-serializable.
        simulated: whether the values are invented.
        source: external source; None if there is none.
    """

    city: str
    temperature: float
    humidity: int
    description: str
    details: dict[str, Any] = field(default_factory=dict)
    simulated: bool = False
    source: str | None = None


@runtime_checkable
class WeatherProvider(Protocol):
    """Service `WEATHER`."""

    async def report(self, query: WeatherQuery, services: Services) -> WeatherReport:
        """Return the current weather of a city.

        Raises:
            ToolFailed: `city_not_found`, or `weather_unavailable`.
        """
