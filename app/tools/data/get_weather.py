"""`get_weather`: returns the weather of a city."""

from __future__ import annotations

import re
from typing import Any, Literal

from pydantic import Field

from app.core.clock import isoformat
from app.toolkit.context import ToolContext
from app.toolkit.result import ToolResult
from app.toolkit.tool import PermissionClass, SideEffectScope, ToolArgs, tool
from app.tools.data.returns import GET_WEATHER_RESULT
from app.tools.data.services import clock_of
from app.tools.data.weather.reports import (
    WEATHER,
    Language,
    Units,
    WeatherProvider,
    WeatherQuery,
    WeatherReport,
)
from app.tools.untrusted import untrusted

_CHINESE = re.compile(r"[\u3400-\u9fff]")


class GetWeatherArgs(ToolArgs):
    city: str = Field(
        min_length=1,
        max_length=100,
        pattern=r"\S",
        description="Name of the city; add a region or country if ambiguous: Paris, Texas.",
    )
    days: int = Field(default=0, ge=0, le=16, description="Days of forecast, today first.")
    units: Units = Field(default="metric", description="Celsius and km/h, or Fahrenheit and mph.")
    language: Literal["auto", "en", "zh"] = Field(
        default="auto", description="Language of the description; auto uses that of city."
    )


@tool(
    category="weather",
    toolset="data",
    permission=PermissionClass.READ,
    side_effect=SideEffectScope.NETWORK,
    kind="fetch",
    requires=(WEATHER,),
    routing_hint="main-process-proxy",
    timeout_s=60,
    tags=("weather",),
    argument_aliases={"location": "city", "lang": "language"},
    return_schema=GET_WEATHER_RESULT,
)
async def get_weather(args: GetWeatherArgs, ctx: ToolContext) -> ToolResult:
    """Get the current weather of a city, and with days a forecast.

    Returns temperature, humidity and a description, the matched place, and other matching places.
    Values marked as simulated are invented.
    """
    provider = ctx.services.require(WEATHER, WeatherProvider)  # type: ignore[type-abstract]
    query = WeatherQuery(args.city.strip(), args.days, args.units, _language(args))
    report = await provider.report(query, ctx.services)
    data: dict[str, Any] = {
        "city": report.city,
        "temperature": report.temperature,
        "humidity": report.humidity,
        "description": report.description,
        "query_time": isoformat(clock_of(ctx).now()),
        **report.details,
        "simulated": report.simulated,
    }
    text = _text(report, args.units)
    return ToolResult.ok(data, text=untrusted(text, report.source) if report.source else text)


def _language(args: GetWeatherArgs) -> Language:
    if args.language != "auto":
        return args.language
    return "zh" if _CHINESE.search(args.city) else "en"


def _text(report: WeatherReport, units: Units) -> str:
    degrees = "°F" if units == "imperial" else "°C"
    place = [report.city, report.details.get("region"), report.details.get("country")]
    lines = [
        f"{', '.join(part for part in place if part)}: {report.description},"
        f" {report.temperature:g} {degrees}, humidity {report.humidity} %"
    ]
    lines += [
        f"{day['date']}: {day['description']}, {day['temperature_min']:g} to"
        f" {day['temperature_max']:g} {degrees}"
        for day in report.details.get("forecast", ())
    ]
    others = report.details.get("alternatives", ())
    if others:
        lines.append(f"Other matching places: {'; '.join(map(_place, others))}")
    if report.simulated:
        lines.append("(simulated: these values are made up)")
    return "\n".join(lines)


def _place(place: dict[str, Any]) -> str:
    parts = (place["city"], place["region"], place["country"])
    return ", ".join(part for part in parts if part)
