"""Result schemas of the data tools."""

from __future__ import annotations

from app.toolkit.returns import (
    ANYTHING,
    FLAG,
    INTEGER,
    NUMBER,
    TEXT,
    either,
    keyed,
    listed,
    maybe,
    record,
)

CALCULATOR_RESULT = record(result=either(NUMBER, TEXT))
_MATCH = record(
    text=TEXT,
    start=INTEGER,
    end=INTEGER,
    groups=listed(maybe(TEXT)),
    named=keyed(maybe(TEXT)),
)
TEXT_PROCESS_RESULT = record(
    {
        "count": INTEGER,
        "lines": INTEGER,
        "words": INTEGER,
        "result": TEXT,
        "removed": INTEGER,
        "replaced": INTEGER,
        "truncated": FLAG,
        "algorithm": TEXT,
        "matches": listed(_MATCH),
        "total": INTEGER,
        "equal": FLAG,
        "added": INTEGER,
    }
)
_INVALID = record({"reasons": listed(TEXT)}, path=TEXT, message=TEXT, keyword=TEXT)
JSON_PROCESS_RESULT = record(
    {
        "data": ANYTHING,
        "result": ANYTHING,
        "keys": listed(TEXT),
        "valid": FLAG,
        "rows": INTEGER,
        "columns": listed(TEXT),
        "formula_cells": INTEGER,
        "equal": FLAG,
        "added": listed(record({"value": ANYTHING}, path=TEXT)),
        "removed": listed(record({"value": ANYTHING}, path=TEXT)),
        "changed": listed(record({"old": ANYTHING, "new": ANYTHING}, path=TEXT)),
        "total": INTEGER,
        "truncated": FLAG,
        "errors": listed(_INVALID),
        "draft": TEXT,
    }
)
_CALENDAR = record(
    years=INTEGER, months=INTEGER, days=INTEGER, hours=INTEGER, minutes=INTEGER, seconds=NUMBER
)
TIME_REASONING_RESULT = record(
    {
        "utc": TEXT,
        "unix": NUMBER,
        "tz": TEXT,
        "offset": TEXT,
        "summer_time": FLAG,
        "date": TEXT,
        "weekday": TEXT,
        "iso_week": TEXT,
        "day_of_year": INTEGER,
        "seconds": NUMBER,
        "calendar": _CALENDAR,
        "business_days": INTEGER,
        "start": TEXT,
        "end": TEXT,
        "in_unit": NUMBER,
    },
    result=TEXT,
    notes=listed(TEXT),
)
_PLACE = record(city=TEXT, region=TEXT, country=TEXT)
_DAY = record(
    date=TEXT,
    description=TEXT,
    temperature_min=NUMBER,
    temperature_max=NUMBER,
    precipitation_probability=maybe(NUMBER),
)
GET_WEATHER_RESULT = record(
    {
        "region": TEXT,
        "country": TEXT,
        "latitude": NUMBER,
        "longitude": NUMBER,
        "timezone": TEXT,
        "observed_at": TEXT,
        "apparent_temperature": maybe(NUMBER),
        "precipitation": maybe(NUMBER),
        "wind_speed": maybe(NUMBER),
        "units": TEXT,
        "alternatives": listed(_PLACE),
        "forecast": listed(_DAY),
    },
    city=TEXT,
    temperature=NUMBER,
    humidity=maybe(NUMBER),
    description=TEXT,
    query_time=TEXT,
    simulated=FLAG,
)
