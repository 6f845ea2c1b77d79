"""Definitions as models expect them."""

from __future__ import annotations

import pytest

from app.catalog.formats import build_request, render, to_anthropic, to_native, to_openai
from tests.catalog.factories import make_tool

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
SHOWN = {**CITY, "additionalProperties": False}
WEATHER = make_tool("weather", "forecast", description="Weather of a city.", parameters=CITY)


@pytest.mark.requirement("REG-02")
def test_openai_form_wraps_name_description_and_parameters():
    assert to_openai(WEATHER) == {
        "type": "function",
        "function": {
            "name": "weather",
            "description": "Weather of a city.",
            "parameters": SHOWN,
        },
    }


def test_anthropic_form_calls_the_parameters_input_schema():
    assert to_anthropic(WEATHER) == {
        "name": "weather",
        "description": "Weather of a city.",
        "input_schema": SHOWN,
    }


def test_native_form_is_the_manifest():
    assert to_native(WEATHER) == WEATHER.manifest()
    assert render([WEATHER]) == [WEATHER.manifest()]


@pytest.mark.parametrize("form", ["openai", "anthropic"])
def test_providers_see_no_dots_in_names(form):
    assert "db.query" not in str(render([make_tool("db.query", description="Asks.")], form))


@pytest.mark.requirement("REG-26")
def test_a_request_offers_every_tool_and_leaves_the_choice_to_the_model():
    messages = [{"role": "user", "content": "Weather?"}]
    assert build_request(messages, [WEATHER]) == {
        "model": "glm-5",
        "messages": messages,
        "tools": [to_openai(WEATHER)],
        "tool_choice": "auto",
    }


@pytest.mark.requirement("REG-26")
def test_keywords_override_and_extend_the_request():
    body = build_request([], [WEATHER], model="m", tool_choice="none", stream=True)
    assert body == {
        "model": "m",
        "messages": [],
        "tools": [to_openai(WEATHER)],
        "tool_choice": "none",
        "stream": True,
    }


def test_a_request_without_tools_does_not_mention_them():
    assert build_request([], []) == {"model": "glm-5", "messages": []}
