"""A server with the two interfaces of Open-Meteo."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

BERLIN = {
    "id": 2950159,
    "name": "Berlin",
    "latitude": 52.52437,
    "longitude": 13.41053,
    "elevation": 74.0,
    "feature_code": "PPLC",
    "country_code": "DE",
    "admin1_id": 2950157,
    "timezone": "Europe/Berlin",
    "population": 3426354,
    "postcodes": ["10967", "13347"],
    "country_id": 2921044,
    "country": "Germany",
    "admin1": "State of Berlin",
}
NEW_HAMPSHIRE = {
    "id": 5083330,
    "name": "Berlin",
    "latitude": 44.46867,
    "longitude": -71.18508,
    "country_code": "US",
    "timezone": "America/New_York",
    "country": "United States",
    "admin1": "New Hampshire",
}
FORECAST: dict[str, Any] = {
    "latitude": 52.52,
    "longitude": 13.419998,
    "generationtime_ms": 0.06,
    "utc_offset_seconds": 3600,
    "timezone": "Europe/Berlin",
    "timezone_abbreviation": "GMT+1",
    "elevation": 38.0,
    "current_units": {"time": "iso8601", "temperature_2m": "°C"},
    "current": {
        "time": "2026-11-22T19:15",
        "interval": 900,
        "temperature_2m": 3.4,
        "relative_humidity_2m": 87,
        "apparent_temperature": 0.1,
        "precipitation": 0.2,
        "weather_code": 61,
        "wind_speed_10m": 11.2,
    },
    "daily": {
        "time": ["2026-11-22", "2026-11-23", "2026-11-24"],
        "weather_code": [61, 3, None],
        "temperature_2m_max": [5.0, 6.5, None],
        "temperature_2m_min": [1.0, -0.5, None],
        "precipitation_probability_max": [80, None, None],
    },
}


@dataclass
class WeatherServer:
    """What it answers by path, and what it was asked.

    Attributes:
        answers: path → status and body; a body that is no text is written as JSON.
    """

    url: str = ""
    answers: dict[str, tuple[int, Any]] = field(
        default_factory=lambda: {
            "/search": (200, {"results": [BERLIN, NEW_HAMPSHIRE], "generationtime_ms": 0.7}),
            "/forecast": (200, FORECAST),
        }
    )
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        target = urlsplit(head.split()[1].decode())
        query = {key: values[0] for key, values in parse_qs(target.query).items()}
        self.asked.append((target.path, query))
        status, answer = self.answers[target.path]
        body = answer.encode() if isinstance(answer, str) else json.dumps(answer).encode()
        writer.write(b"HTTP/1.1 %d X\r\nContent-Length: %d\r\n\r\n" % (status, len(body)) + body)
        await writer.drain()
        writer.close()


@asynccontextmanager
async def weather_server() -> AsyncIterator[WeatherServer]:
    served = WeatherServer()
    server = await asyncio.start_server(served.serve, "127.0.0.1", 0)
    served.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server:
        yield served
