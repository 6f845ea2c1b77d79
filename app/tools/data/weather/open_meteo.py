"""Weather from Open-Meteo, or a server with its two APIs; no key is needed."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, TypeVar
from urllib.parse import urlencode, urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from app.config.weather import WeatherSettings
from app.core.errors import ToolFailed
from app.core.escaping import visible
from app.domain.web import WEB_ACCESS
from app.operations.web.protocol import WebAccess, WebResponse
from app.toolkit.services import Services
from app.tools.data.weather.reports import Language, WeatherQuery, WeatherReport

_TIMEOUT_S = 15.0
_MAX_BYTES = 1_000_000
_PLACES = 10
_NAMED = 5
_MAX_NAME = 100
_IMPERIAL = {
    "temperature_unit": "fahrenheit",
    "wind_speed_unit": "mph",
    "precipitation_unit": "inch",
}
_NOW = (
    "temperature_2m",
    "relative_humidity_2m",
    "apparent_temperature",
    "precipitation",
    "weather_code",
    "wind_speed_10m",
)
_DAILY = (
    "weather_code",
    "temperature_2m_max",
    "temperature_2m_min",
    "precipitation_probability_max",
)

_WEATHER_WORDS: Mapping[int, tuple[str, str]] = MappingProxyType(
    {
        0: ("clear sky", "晴天"),
        1: ("mainly clear", "大部晴朗"),
        2: ("partly cloudy", "多云"),
        3: ("overcast", "阴天"),
        45: ("fog", "雾"),
        48: ("freezing fog", "冻雾"),
        51: ("light drizzle", "小毛毛雨"),
        53: ("drizzle", "毛毛雨"),
        55: ("heavy drizzle", "大毛毛雨"),
        56: ("light freezing drizzle", "小冻毛毛雨"),
        57: ("freezing drizzle", "冻毛毛雨"),
        61: ("light rain", "小雨"),
        63: ("rain", "中雨"),
        65: ("heavy rain", "大雨"),
        66: ("light freezing rain", "小冻雨"),
        67: ("freezing rain", "冻雨"),
        71: ("light snow", "小雪"),
        73: ("snow", "中雪"),
        75: ("heavy snow", "大雪"),
        77: ("snow grains", "米雪"),
        80: ("light showers", "小阵雨"),
        81: ("showers", "阵雨"),
        82: ("violent showers", "强阵雨"),
        85: ("light snow showers", "小阵雪"),
        86: ("snow showers", "阵雪"),
        95: ("thunderstorm", "雷阵雨"),
        96: ("thunderstorm with light hail", "雷阵雨伴小冰雹"),
        99: ("thunderstorm with heavy hail", "雷阵雨伴大冰雹"),
    }
)


class _Answer(BaseModel):
    """Response of the server; other fields may change without notice."""

    model_config = ConfigDict(extra="ignore", allow_inf_nan=False)


class _Location(_Answer):
    name: str
    latitude: float
    longitude: float
    country: str | None = None
    country_code: str | None = None
    admin1: str | None = None
    timezone: str | None = None

    def answers_to(self, hint: str) -> bool:
        own = (self.country, self.country_code, self.admin1)
        return any(name is not None and name.casefold() == hint.casefold() for name in own)

    def named(self) -> dict[str, str | None]:
        return {
            "city": _plain(self.name),
            "region": _plain(self.admin1),
            "country": _plain(self.country),
        }


class _Places(_Answer):
    results: list[_Location] = Field(default_factory=list)


class _Current(_Answer):
    time: str
    temperature_2m: float
    relative_humidity_2m: float
    weather_code: int
    apparent_temperature: float | None = None
    precipitation: float | None = None
    wind_speed_10m: float | None = None


class _Days(_Answer):
    time: list[str]
    weather_code: list[int | None]
    temperature_2m_max: list[float | None]
    temperature_2m_min: list[float | None]
    precipitation_probability_max: list[float | None] | None = None


class _Forecast(_Answer):
    timezone: str
    current: _Current
    daily: _Days | None = None


class _Refusal(_Answer):
    reason: str


_A = TypeVar("_A", bound=_Answer)


class OpenMeteo:
    """Finds the place, then requests its weather."""

    def __init__(self, settings: WeatherSettings) -> None:
        self._settings = settings

    async def report(self, query: WeatherQuery, services: Services) -> WeatherReport:
        web = services.require(WEB_ACCESS, WebAccess)  # type: ignore[type-abstract]
        place, others = await self._place(query, web)
        forecast = await self._forecast(query, place, web)
        current = forecast.current
        names = place.named()
        details: dict[str, Any] = {
            "region": names["region"],
            "country": names["country"],
            "latitude": place.latitude,
            "longitude": place.longitude,
            "timezone": _plain(forecast.timezone),
            "observed_at": _plain(current.time),
            "apparent_temperature": current.apparent_temperature,
            "precipitation": current.precipitation,
            "wind_speed": current.wind_speed_10m,
            "units": query.units,
            "alternatives": [other.named() for other in others[:_NAMED]],
        }
        if forecast.daily is not None and query.days:
            details["forecast"] = _days(forecast.daily, query.language)
        return WeatherReport(
            city=names["city"] or query.city,
            temperature=current.temperature_2m,
            humidity=round(current.relative_humidity_2m),
            description=describe(current.weather_code, query.language),
            details=details,
            source=urlsplit(self._settings.forecast_url).hostname,
        )

    async def _place(
        self, query: WeatherQuery, web: WebAccess
    ) -> tuple[_Location, list[_Location]]:
        """Return the selected place, and other places with the name."""
        name, *hints = [part.strip() for part in query.city.replace("，", ",").split(",")]
        wanted = {"name": name, "count": str(_PLACES), "language": query.language, "format": "json"}
        found = await _ask(web, self._settings.geocoding_url, wanted, _Places)
        fitting = [
            place
            for place in found.results
            if all(place.answers_to(hint) for hint in hints if hint)
        ]
        if not fitting:
            raise ToolFailed(_not_found(query.city, found.results), code="city_not_found")
        taken = fitting[0]
        return taken, [place for place in found.results if place is not taken]

    async def _forecast(self, query: WeatherQuery, place: _Location, web: WebAccess) -> _Forecast:
        wanted = {
            "latitude": str(place.latitude),
            "longitude": str(place.longitude),
            "current": ",".join(_NOW),
            "timezone": "auto",
            **(_IMPERIAL if query.units == "imperial" else {}),
        }
        if query.days:
            wanted |= {"daily": ",".join(_DAILY), "forecast_days": str(query.days)}
        return await _ask(web, self._settings.forecast_url, wanted, _Forecast)


async def _ask(web: WebAccess, url: str, wanted: dict[str, str], kind: type[_A]) -> _A:
    try:
        response = await web.request(
            "GET",
            f"{url}?{urlencode(wanted)}",
            headers={"accept": "application/json"},
            timeout_s=_TIMEOUT_S,
            max_bytes=_MAX_BYTES,
            trusted=url,
        )
    except ToolFailed as error:
        raise _unavailable(url, error.message) from None
    if not response.ok:
        raise _unavailable(url, f"status {response.status}{_reason(response)}")
    try:
        return kind.model_validate_json(response.body)
    except ValidationError as error:
        where = ".".join(str(part) for part in error.errors()[0]["loc"]) or "the response"
        raise _unavailable(url, f"it has an unexpected format: {where[:_MAX_NAME]}") from None


def _days(daily: _Days, language: Language) -> list[dict[str, Any]]:
    """Return one row per day, without trailing days that have no values."""
    chances = daily.precipitation_probability_max or [None] * len(daily.time)
    rows = zip(
        daily.time,
        daily.weather_code,
        daily.temperature_2m_min,
        daily.temperature_2m_max,
        chances,
        strict=False,
    )
    return [
        {
            "date": _plain(date),
            "description": describe(code, language),
            "temperature_min": low,
            "temperature_max": high,
            "precipitation_probability": chance,
        }
        for date, code, low, high, chance in rows
        if code is not None and low is not None and high is not None
    ]


def _not_found(city: str, others: list[_Location]) -> str:
    message = f"City {city!r} not found"
    if not others:
        return f"{message}; use only its name, or its name in the local language"
    names = ["/".join(filter(None, other.named().values())) for other in others[:_NAMED]]
    return f"{message}; matching places: {', '.join(names)}"


def _reason(response: WebResponse) -> str:
    """Return the server's error reason, if it has the documented form."""
    try:
        return f" ({_plain(_Refusal.model_validate_json(response.body).reason)})"
    except ValidationError:
        return ""


def _unavailable(url: str, why: str) -> ToolFailed:
    return ToolFailed(
        f"The weather service at {urlsplit(url).hostname} did not answer: {why}",
        code="weather_unavailable",
    )


def _plain(text: str | None) -> str | None:
    """Return one short line of a text from the server."""
    return None if text is None else " ".join(visible(text).split())[:_MAX_NAME]


def describe(code: int, language: Language) -> str:
    """Return the code in words; an unknown code as its number."""
    unknown = (f"weather code {code}", f"天气代码 {code}")
    english, chinese = _WEATHER_WORDS.get(code, unknown)
    return chinese if language == "zh" else english
