"""The `data` toolset."""

from __future__ import annotations

from app.toolkit.tool import Tool
from app.tools.data.calculator import calculator
from app.tools.data.get_weather import get_weather
from app.tools.data.json_process import json_process
from app.tools.data.text_process import text_process
from app.tools.data.time_reasoning import time_reasoning

TOOLS: tuple[Tool, ...] = (
    calculator,
    text_process,
    json_process,
    time_reasoning,
    get_weather,
)
