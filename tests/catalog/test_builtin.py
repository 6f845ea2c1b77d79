"""What ships, and the one function that builds a registry."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from app.catalog.builtin import (
    BUILTIN_TOOLSETS,
    create_crawler_tools,
    create_data_tools,
    create_file_tools,
    init_tools,
    load_builtin,
    register_all_tools,
    toolset_tools,
)
from app.catalog.errors import DuplicateTool
from app.catalog.registry import ToolRegistry
from app.core.errors import ConfigurationError
from app.toolkit.tool import PermissionClass, SideEffectScope
from tests.catalog.factories import make_tool

PLUGIN = """
from app.catalog.seed_api import register
register("extra", lambda arguments: None, "Extra.", {})
"""


@pytest.mark.requirement("REG-12")
def test_loading_the_built_in_tools_twice_changes_nothing():
    registry = ToolRegistry()
    load_builtin(registry)
    once = registry.snapshot()
    load_builtin(registry)
    init_tools(registry)
    assert registry.snapshot() is once
    assert {tool.source for tool in once.tools.values()} == {"builtin"}


@pytest.mark.requirement("REG-11")
def test_each_factory_gives_its_group():
    assert {tool.toolset for tool in create_file_tools()} == {"files"}
    assert {tool.toolset for tool in create_data_tools()} == {"data"}
    assert {tool.toolset for tool in create_crawler_tools()} == {"web"}
    assert {"web_search", "web_fetch"} <= {tool.name for tool in create_crawler_tools()}
    assert {"read_file", "write_file", "list_dir"} <= {tool.name for tool in create_file_tools()}
    assert "calculator" in {tool.name for tool in create_data_tools()}


@pytest.mark.requirement("REG-13")
def test_built_in_tools_are_found_by_toolset_and_by_category():
    registry = register_all_tools(installed_plugins=False)
    assert list(registry.list_by_toolset("files")) == create_file_tools()
    tools = registry.snapshot().tools.values()
    by_category = {tool.category: registry.list_by_category(tool.category) for tool in tools}
    assert sum(len(found) for found in by_category.values()) == len(tools)


@pytest.mark.requirement("REG-17")
def test_one_call_builds_the_whole_registry(tmp_path: Path):
    (tmp_path / "extra.py").write_text(PLUGIN, encoding="utf-8")
    registry = register_all_tools(plugin_dir=tmp_path, installed_plugins=False)
    shipped = [tool.name for module in BUILTIN_TOOLSETS for tool in toolset_tools(module)]
    assert list(registry.snapshot().tools) == [*shipped, "extra"]
    assert registry.snapshot().problems == ()


@pytest.mark.requirement("REG-02", "REG-20", "REG-21")
def test_every_built_in_tool_has_an_object_schema_and_says_what_it_may_do():
    registry = register_all_tools(installed_plugins=False)
    for item in registry.list_all():
        assert item.keys() == {"type", "function"}
        assert item["function"].keys() == {"name", "description", "parameters"}
        assert item["function"]["parameters"]["type"] == "object"
    for row in registry.snapshot().rows():
        assert row["permission_class"] in set(PermissionClass)
        assert row["side_effect_scope"] in set(SideEffectScope)


@pytest.mark.requirement("REG-19")
def test_every_built_in_tool_says_what_it_returns():
    tools = register_all_tools(installed_plugins=False).snapshot().tools
    for tool in tools.values():
        assert tool.return_schema, tool.name
        Draft202012Validator.check_schema(dict(tool.return_schema))
        assert tool.return_schema["type"] == "object"
        assert tool.return_schema["properties"], tool.name


def test_another_tool_of_a_built_in_name_is_refused_and_nothing_is_loaded():
    registry = ToolRegistry()
    registry.register(make_tool("read_file"))
    with pytest.raises(DuplicateTool, match="read_file"):
        load_builtin(registry)
    assert list(registry.snapshot().tools) == ["read_file"]


def test_a_toolset_that_cannot_be_loaded_is_named(tmp_path: Path, monkeypatch):
    (tmp_path / "toolless.py").write_text("", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    for module in ("app.tools.nowhere.toolset", "toolless"):
        with pytest.raises(ConfigurationError, match=f"cannot load toolset '{module}'"):
            toolset_tools(module)
    monkeypatch.delitem(sys.modules, "toolless")


@pytest.mark.requirement("LGY-01")
def test_the_five_kept_modules_have_entries():
    registry = register_all_tools(installed_plugins=False)
    kept = {"task", "schedule", "search", "forum", "time_reasoning"}
    assert kept - registry.snapshot().tools.keys() == set()


@pytest.mark.requirement("REG-30")
def test_a_dozen_tools_and_more_are_built_in():
    tools = register_all_tools(installed_plugins=False).snapshot().tools
    assert len(tools) >= 12
    assert all(tool.parameters["type"] == "object" for tool in tools.values())
