"""`search` in the whole house."""

from __future__ import annotations

import pytest

from tests.execution.lab import Lab


@pytest.mark.requirement("LGY-01")
async def test_tools_are_found_whether_a_model_is_shown_them_or_not(house: Lab):
    for query, name in (("calculator", "calculator"), ("weather of a city", "get_weather")):
        found = (await house.call("search", query=query, scope="tools")).result
        assert found.data["results"]["tools"][0]["name"] == name
    further = (await house.call("search_tools", query="calculator")).result
    assert further.data == {"tools": [], "total": 0}
