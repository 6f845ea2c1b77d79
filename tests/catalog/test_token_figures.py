"""The estimate of what a definition costs, held against counted figures."""

from __future__ import annotations

from typing import Any

import pytest

from app.catalog.builtin import register_all_tools
from app.catalog.formats import estimate_tokens, model_definition

# Counted once with the vocabulary cl100k_base over the compact JSON of each definition.
WEATHER = {
    "name": "get_weather",
    "description": "Get the current weather in a given location",
    "input_schema": {
        "type": "object",
        "properties": {
            "location": {
                "type": "string",
                "description": "The city and state, e.g. San Francisco, CA",
            }
        },
        "required": ["location"],
    },
}
STOCK = {
    "name": "get_stock_price",
    "description": "Get the current stock price for a given ticker symbol.",
    "input_schema": {
        "type": "object",
        "properties": {
            "ticker": {
                "type": "string",
                "description": "The stock ticker symbol, e.g. AAPL for Apple Inc.",
            }
        },
        "required": ["ticker"],
    },
}
ISSUE = {
    "name": "create_issue",
    "description": "Create an issue in a repository. Prefer it over a comment when the problem is"
    " new; search first, so that there are no two about one thing. Returns the number of the"
    " issue and its address.",
    "input_schema": {
        "type": "object",
        "properties": {
            "repository": {
                "type": "string",
                "description": "Owner and name, such as octocat/hello-world.",
            },
            "title": {
                "type": "string",
                "minLength": 1,
                "maxLength": 200,
                "description": "One line that says what is wrong.",
            },
            "labels": {"type": "array", "items": {"type": "string"}, "maxItems": 20},
            "priority": {"type": "string", "enum": ["low", "medium", "high"], "default": "medium"},
            "draft": {"type": "boolean", "default": False},
        },
        "required": ["repository", "title"],
        "additionalProperties": False,
    },
}


@pytest.mark.parametrize(("definition", "counted"), [(WEATHER, 53), (STOCK, 58), (ISSUE, 163)])
def test_the_estimate_is_within_a_tenth_of_what_was_counted(
    definition: dict[str, Any], counted: int
):
    assert estimate_tokens(definition) == pytest.approx(counted, rel=0.1)


def test_prose_beyond_ascii_costs_about_a_token_a_character():
    assert estimate_tokens({"": "读取文件的内容" * 10}) == pytest.approx(70, rel=0.1)


@pytest.mark.requirement("D-21")
def test_every_tool_that_ships_stays_small():
    catalog = register_all_tools(installed_plugins=False).snapshot()
    costs = {
        name: estimate_tokens(model_definition(tool, name)) for name, tool in catalog.tools.items()
    }
    assert max(costs.values()) <= 500, costs
