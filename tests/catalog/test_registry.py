"""Adding, removing and finding tools."""

from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError

import pytest

from app.catalog.catalog import Catalog, PluginProblem
from app.catalog.errors import DuplicateTool, InvalidTool
from app.catalog.registry import ToolRegistry
from app.core.errors import Conflict, ToolNotFound
from app.toolkit.tool import PermissionClass, SideEffectScope
from tests.catalog.factories import make_tool


def registry_of(*tools):
    registry = ToolRegistry()
    for tool in tools:
        registry.register(tool)
    return registry


@pytest.mark.requirement("REG-04")
def test_a_registered_tool_is_found_and_an_unknown_name_is_none():
    tool = make_tool("greet")
    registry = registry_of(tool)
    assert registry.get("greet") is tool
    assert registry.get("nope") is None
    assert [item["function"]["name"] for item in registry.list_all()] == ["greet"]


@pytest.mark.requirement("REG-05")
def test_what_shares_a_registry_sees_the_same_tools_and_another_registry_sees_none():
    shared, other = ToolRegistry(), ToolRegistry()
    services = {"api": shared, "executor": shared}
    services["api"].register(make_tool("greet"))
    assert services["executor"].get("greet") is not None
    assert other.get("greet") is None


@pytest.mark.requirement("REG-15")
def test_a_second_tool_of_one_name_is_refused_as_a_value_error():
    registry = registry_of(make_tool("greet"))
    with pytest.raises(ValueError, match=r"^Tool 'greet' is already registered$") as caught:
        registry.register(make_tool("greet"))
    assert isinstance(caught.value, Conflict)
    assert registry.generation == 1


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (make_tool("greet"), make_tool("Greet")),
        (make_tool("bash", "exec"), make_tool("exec")),
        (make_tool("bash", "exec"), make_tool("EXEC")),
        (make_tool("exec"), make_tool("bash", "exec")),
        (make_tool("db.query"), make_tool("db_query")),
    ],
)
@pytest.mark.requirement("REG-15")
def test_names_and_aliases_share_one_namespace_whatever_their_case(first, second):
    registry = registry_of(first)
    with pytest.raises(DuplicateTool, match="is already registered"):
        registry.register(second)
    assert list(registry.snapshot().tools) == [first.name]


def test_a_tool_whose_alias_is_its_own_name_is_refused():
    with pytest.raises(DuplicateTool):
        ToolRegistry().register(make_tool("greet", "greet"))


def test_an_alias_may_write_its_tool_in_another_case_and_no_other_tool():
    registry = registry_of(make_tool("greet", "Greet"))
    assert registry.get("Greet") is registry.get("greet") is not None
    with pytest.raises(DuplicateTool, match="as 'greet'"):
        registry.register(make_tool("other", "GREET"))
    with pytest.raises(DuplicateTool, match=r"as 'b\.c'"):
        ToolRegistry().register(make_tool("b.c", "b_c"))


def test_replace_takes_the_place_and_the_aliases_of_the_old_tool():
    registry = registry_of(make_tool("bash", "exec"), make_tool("grep"))
    newer = make_tool("bash", "shell")
    registry.register(newer, replace=True)
    assert registry.get("bash") is registry.get("shell") is newer
    assert registry.get("exec") is None
    assert list(registry.snapshot().tools) == ["bash", "grep"]


@pytest.mark.parametrize("intruder", [make_tool("Bash"), make_tool("exec"), make_tool("x", "bash")])
def test_replace_takes_no_name_but_its_own(intruder):
    registry = registry_of(make_tool("bash", "exec"))
    with pytest.raises(DuplicateTool):
        registry.register(intruder, replace=True)


@pytest.mark.parametrize("name", ["", "1st", "a b", "a\n", "a" * 65, "../x", "工具", "_x"])
def test_a_name_outside_the_pattern_is_refused(name):
    registry = ToolRegistry()
    with pytest.raises(InvalidTool, match="must start with a letter"):
        registry.register(make_tool(name))
    with pytest.raises(InvalidTool, match="must start with a letter"):
        registry.register(make_tool("fine", name))
    assert registry.generation == 0


def test_a_tool_without_a_description_is_refused():
    with pytest.raises(InvalidTool, match="needs a description"):
        ToolRegistry().register(make_tool(description=" "))


@pytest.mark.requirement("REG-16")
def test_an_unregistered_tool_is_gone_with_its_aliases_and_its_name_is_free():
    tool = make_tool("bash", "exec")
    registry = registry_of(tool)
    assert registry.unregister("bash") is tool
    assert registry.get("bash") is None
    assert registry.get("exec") is None
    registry.register(make_tool("exec"))


@pytest.mark.parametrize("name", ["nope", "exec"])
@pytest.mark.requirement("REG-16")
def test_only_a_canonical_name_can_be_unregistered(name):
    registry = registry_of(make_tool("bash", "exec"))
    with pytest.raises(ToolNotFound, match=f"Tool not found: {name}"):
        registry.unregister(name)


@pytest.mark.requirement("REG-13")
def test_categories_and_toolsets_select_their_tools():
    sql = make_tool("sql", category="database", toolset="mysql")
    rows = make_tool("rows", category="database")
    click = make_tool("click", category="微信桌面", toolset="weixin_desktop")
    registry = registry_of(sql, rows, click)
    assert registry.list_by_category("database") == (sql, rows)
    assert registry.list_by_category("微信桌面") == (click,)
    assert registry.list_by_toolset("mysql") == (sql,)
    assert registry.list_by_toolset("weixin_desktop") == (click,)
    assert registry.list_by_category("nope") == ()


@pytest.mark.requirement("REG-22")
def test_a_tool_is_found_with_its_function_and_keeps_the_hooks_it_came_with():
    hook = object()
    tool = make_tool("greet", permission_class=PermissionClass.READ)
    registry = ToolRegistry()
    registry.register(tool, hooks=[hook])
    assert registry.get_executor("greet") is tool.function
    assert registry.get_executor("nope") is None
    assert registry.snapshot().hooks == {"greet": (hook,)}
    registry.register(tool, replace=True)
    assert registry.snapshot().hooks == {}


def test_a_snapshot_stays_as_it_was_and_cannot_be_changed():
    registry = registry_of(make_tool("first"))
    before = registry.snapshot()
    registry.register(make_tool("second"))
    assert list(before.tools) == ["first"]
    assert registry.snapshot().generation > before.generation
    with pytest.raises(TypeError):
        before.tools["x"] = make_tool("x")
    with pytest.raises(FrozenInstanceError):
        before.generation = 7


def test_a_snapshot_is_built_once_per_generation():
    registry = registry_of(make_tool("first"))
    assert registry.snapshot() is registry.snapshot()


def test_listeners_get_each_new_catalog_until_they_stop():
    registry = ToolRegistry()
    seen: list[Catalog] = []
    stop = registry.on_change(seen.append)
    registry.register(make_tool("first"))
    stop()
    stop()
    registry.register(make_tool("second"))
    assert [list(catalog.tools) for catalog in seen] == [["first"]]


def test_a_transaction_is_announced_once():
    registry = ToolRegistry()
    seen: list[Catalog] = []
    registry.on_change(seen.append)
    with registry.transaction():
        registry.register(make_tool("first"))
        registry.register(make_tool("second"))
    assert [list(catalog.tools) for catalog in seen] == [["first", "second"]]


def test_a_failed_transaction_leaves_nothing_and_is_not_announced():
    registry = registry_of(make_tool("first"))
    before = registry.snapshot()
    seen: list[Catalog] = []
    registry.on_change(seen.append)
    inside: list[Catalog] = []

    def change() -> None:
        with registry.transaction():
            registry.register(make_tool("second"))
            inside.append(registry.snapshot())
            registry.register(make_tool("first"))

    with pytest.raises(DuplicateTool):
        change()
    assert seen == []
    assert registry.snapshot().tools == before.tools
    registry.register(make_tool("third"))
    assert registry.generation > inside[0].generation


def test_problems_of_one_origin_replace_each_other():
    registry = ToolRegistry()
    registry.set_problems("plugins", [PluginProblem("a", "a.py", "broken", "plugin_raised")])
    registry.set_problems("mcp", [PluginProblem("m", "server", "away", "plugin_raised")])
    registry.set_problems("plugins", [])
    assert registry.snapshot().problems == (PluginProblem("m", "server", "away", "plugin_raised"),)


@pytest.mark.requirement("REG-20", "REG-21")
def test_a_tool_that_declares_nothing_counts_as_able_to_do_everything():
    tool = make_tool()
    assert tool.permission_class is PermissionClass.EXTERNAL
    assert tool.side_effect_scope is SideEffectScope.NETWORK
    assert {item.value for item in PermissionClass} == {"READ", "WRITE", "EXTERNAL"}
    scopes = {"NONE", "LOCAL_STATE", "DB_WRITE", "NETWORK"}
    assert {item.value for item in SideEffectScope} == scopes


@pytest.mark.parametrize("error", [DuplicateTool("twice", name="a"), InvalidTool("bad")])
def test_the_catalogs_errors_survive_pickling(error):
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), copy.message, copy.details) == (type(error), error.message, error.details)
