"""WMO weather codes (table 4677, as forecasts use it) in words."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from app.tools.data.weather.reports import Language

_WORDS: Mapping[int, tuple[str, str]] = MappingProxyType(
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


def describe(code: int, language: Language) -> str:
    """Return the code in words; an unknown code as its number."""
    unknown = (f"weather code {code}", f"天气代码 {code}")
    english, chinese = _WORDS.get(code, unknown)
    return chinese if language == "zh" else english
