"""What is asked of a weather provider and what it answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

from app.toolkit.services import Services

WEATHER = "weather"

Units = Literal["metric", "imperial"]
Language = Literal["en", "zh"]


@dataclass(frozen=True, slots=True)
class WeatherQuery:
    """`days` of forecast besides the present; 0 for none."""

    city: str
    days: int = 0
    units: Units = "metric"
    language: Language = "en"


@dataclass(frozen=True, slots=True)
class WeatherReport:
    """The weather of one place.

    Attributes:
        city: the place that was taken for the city.
        temperature: degrees Celsius, or Fahrenheit with imperial units.
        humidity: relative, in percent.
        description: in words of the language asked for.
        details: what more the provider knows, JSON-serialisable.
        simulated: whether the values are invented.
        source: what outside the service told it; None when nothing did.
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
    """The service `WEATHER`."""

    async def report(self, query: WeatherQuery, services: Services) -> WeatherReport:
        """The present weather of a city.

        Raises:
            ToolFailed: `city_not_found`, or `weather_unavailable`.
        """
