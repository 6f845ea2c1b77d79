"""Simulated weather: the same few values every time, for trials without a network."""

from __future__ import annotations

from app.toolkit.services import Services
from app.tools.data.weather.reports import WeatherQuery, WeatherReport

_KNOWN = {
    "北京": (25, 60, "晴天"),
    "上海": (28, 75, "多云"),
    "广州": (32, 85, "雷阵雨"),
    "深圳": (30, 80, "阴天"),
}
_OTHERS = (22, 65, "晴天")


class SimulatedWeather:
    """Knows four cities; all others share one weather."""

    async def report(self, query: WeatherQuery, services: Services) -> WeatherReport:
        temperature, humidity, description = _KNOWN.get(query.city, _OTHERS)
        return WeatherReport(query.city, temperature, humidity, description, simulated=True)
