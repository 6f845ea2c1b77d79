from pathlib import Path

import httpx2
import pytest

from app.core.settings import Settings
from tests.api.rest.client import call

BROKEN = "raise RuntimeError('this plugin is broken')\n"


@pytest.mark.requirement("REG-02")
async def test_openai_definitions_have_exactly_their_shape(client: httpx2.AsyncClient):
    listed = (await client.get("/tools", params={"format": "openai"})).json()["tools"]

    assert listed
    for item in listed:
        assert set(item) == {"type", "function"}
        assert item["type"] == "function"
        assert set(item["function"]) == {"name", "description", "parameters"}
        assert item["function"]["parameters"]["type"] == "object"


async def test_anthropic_definitions_have_exactly_their_shape(client: httpx2.AsyncClient):
    listed = (await client.get("/tools", params={"format": "anthropic"})).json()["tools"]

    assert listed
    assert {frozenset(item) for item in listed} == {
        frozenset({"name", "description", "input_schema"})
    }


async def test_native_rows_show_aliases_and_state(client: httpx2.AsyncClient):
    rows = {item["name"]: item for item in (await client.get("/tools")).json()["tools"]}

    assert rows["shell"]["alias_of"] == "bash"
    assert "shell" in rows["bash"]["aliases"]
    assert (rows["bash"]["enabled"], rows["bash"]["disabled_reason"]) == (True, None)


@pytest.mark.requirement("GOV-04")
async def test_a_switched_off_tool_keeps_its_row_and_leaves_the_definitions(
    client: httpx2.AsyncClient,
):
    switched = (await client.patch("/tools/shell", json={"enabled": False})).json()["tool"]

    rows = {item["name"]: item for item in (await client.get("/tools")).json()["tools"]}
    openai = (await client.get("/tools", params={"format": "openai"})).json()["tools"]
    assert (switched["name"], switched["enabled"]) == ("shell", False)
    assert rows["bash"]["disabled_reason"]["code"] == "disabled_global"
    assert "bash" not in {item["function"]["name"] for item in openai}


async def test_a_tool_switched_on_again_works(client: httpx2.AsyncClient):
    for enabled in (False, True):
        await client.patch("/tools/calculator", json={"enabled": enabled})

    result = await call(client, "calculator", arguments={"expression": "1"})

    assert result["status"] == "success"


async def test_one_tool_is_found_by_its_alias(client: httpx2.AsyncClient):
    row = (await client.get("/tools/shell")).json()["tool"]

    assert (row["name"], row["alias_of"]) == ("shell", "bash")


async def test_every_tool_has_a_name_or_a_reason_in_the_toolset(client: httpx2.AsyncClient):
    await client.patch("/tools/bash", json={"enabled": False})

    toolset = (await client.get("/toolset")).json()

    tools = (await client.get("/tools")).json()["tools"]
    names = {item["name"] for item in tools if item["alias_of"] is None}
    assert set(toolset["tool_names"]) | set(toolset["disabled_reasons"]) == names
    assert not set(toolset["tool_names"]) & set(toolset["disabled_reasons"])
    assert [item["name"] for item in toolset["manifest"]] == toolset["tool_names"]


class TestBrokenPlugin:
    """A plugin that cannot be loaded."""

    @pytest.fixture
    def settings(self, settings: Settings, tmp_path: Path) -> Settings:
        settings.plugins_dir.mkdir(parents=True)
        (settings.plugins_dir / "broken.py").write_text(BROKEN, encoding="utf-8")
        return settings

    async def test_it_is_reported_and_stops_nothing(self, client: httpx2.AsyncClient):
        listed = (await client.get("/tools")).json()

        (reported,) = listed["problems"]
        assert "broken" in reported["name"]
        assert "this plugin is broken" in reported["error"]
        assert reported["code"] == "plugin_raised"
        assert listed["tools"]
