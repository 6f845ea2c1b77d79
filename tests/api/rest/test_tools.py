from pathlib import Path

import httpx2
import pytest

from app.config.settings import Settings
from tests.api.rest.client import call

SEED_CATEGORIES = {
    "crawler": {"web_search", "web_fetch", "crawl_batch"},
    "weather": {"get_weather"},
    "data": {"calculator", "text_process", "json_process", "time_reasoning"},
    "database": {"mysql_list_sources", "mysql_schema", "mysql_table_sample", "mysql_query"},
}
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


TEN = {
    *("name", "description", "category", "parameters", "return_schema", "permission_class"),
    *("side_effect_scope", "requires_confirmation", "is_streaming", "tags"),
}


@pytest.mark.requirement("REG-19")
async def test_each_entry_shows_the_ten_fields_of_a_manifest(client: httpx2.AsyncClient):
    rows = (await client.get("/tools")).json()["tools"]
    for row in rows:
        assert row.keys() >= TEN
        if row["alias_of"] is None:
            assert row["return_schema"]["properties"], row["name"]
    one = (await client.get("/tools/bash")).json()["tool"]
    assert one["return_schema"]["properties"]["exit_code"]["anyOf"][0] == {"type": "integer"}
    reshaped = (await client.get("/tools/exec")).json()["tool"]
    assert reshaped["return_schema"] is None


@pytest.mark.requirement("REG-13")
async def test_a_category_or_a_toolset_shows_a_part_of_the_catalog(client: httpx2.AsyncClient):
    for category, names in SEED_CATEGORIES.items():
        for path in ("/tools", "/admin/tools"):
            found = await client.get(path, params={"category": category})
            rows = [row for row in found.json()["tools"] if row.get("alias_of") is None]
            assert {row["name"] for row in rows} == names
    shown = (await client.get("/tools", params={"format": "openai", "category": "weather"})).json()
    assert [item["function"]["name"] for item in shown["tools"]] == ["get_weather"]
    files = (await client.get("/tools", params={"toolset": "files"})).json()["tools"]
    assert {row["toolset"] for row in files} == {"files"}
    assert (await client.get("/tools", params={"category": "nope"})).json()["tools"] == []


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


ILL_DECLARED = """
from app.toolkit.tool import ToolArgs, tool

class Args(ToolArgs):
    pass

@tool(permission="read")
async def odd(args: Args, ctx):
    "Does something odd."

TOOLS = (odd,)
"""
LEAVING = """
import asyncio
from app.catalog.seed_api import register

def make(error, *, inside=None):
    def leave(arguments):
        raise error
    async def leave_on_the_loop(arguments):
        await asyncio.sleep(0)
        raise error
    async def leave_midway(arguments):
        yield "one"
        raise error
    for kind, handler in (("thread", leave), ("loop", leave_on_the_loop), ("stream", leave_midway)):
        register(f"{kind}_{type(error).__name__}", handler, "Leaves.", {})

async def begin(arguments):
    async def leave():
        raise SystemExit(3)
    task = asyncio.create_task(leave())
    await asyncio.wait({task})
    return type(task.exception()).__name__

async def forget(arguments):
    async def leave():
        raise KeyboardInterrupt
    asyncio.create_task(leave())
    return "begun"

register("begin", begin, "Begins a task that leaves.", {})
register("forget", forget, "Begins a task that leaves, and does not look.", {})

for error in (SystemExit(3), KeyboardInterrupt(), GeneratorExit(), BaseException("odd")):
    make(error)
"""
LEAVING_HOOK = """
from app.execution.hooks.model import HookConfig, HookType

def hook(name, error):
    async def leave(context):
        raise error
    return HookConfig(name, HookType.PRE_TOOL_USE, leave, filter_names=frozenset({name}))

HOOKS = [
    hook("calculator", SystemExit(3)),
    hook("text_process", KeyboardInterrupt()),
    hook("json_process", GeneratorExit()),
]
"""


class TestIllDeclaredPlugin:
    """A plugin that declares what cannot be used, beside one that is sound."""

    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        settings.plugins_dir.mkdir(parents=True)
        (settings.plugins_dir / "odd.py").write_text(ILL_DECLARED, encoding="utf-8")
        (settings.plugins_dir / "greet.py").write_text(
            "from app.catalog.seed_api import register\n"
            "register('greet', lambda arguments: 'hello', 'Greets.', {})\n"
        )
        return settings

    @pytest.mark.requirement("REG-09")
    async def test_it_is_left_out_with_its_line_and_its_fix(
        self, client: httpx2.AsyncClient, settings: Settings
    ):
        listed = (await client.get("/tools")).json()
        [problem] = listed["problems"]
        assert problem["at"] == f"{settings.plugins_dir / 'odd.py'}:7"
        assert problem["code"] == "invalid_tool"
        assert "permission_class must be a PermissionClass, not 'read'" in problem["error"]
        assert "PermissionClass.READ" in problem["fix"]
        assert "odd" not in {row["name"] for row in listed["tools"]}

    async def test_everything_else_runs(self, client: httpx2.AsyncClient):
        assert (await call(client, "greet"))["text"] == "hello"
        assert (await call(client, "calculator", arguments={"expression": "1+1"}))[
            "status"
        ] == "success"
        for path in (
            "/tools?format=openai",
            "/admin/tools",
            "/admin/resolve?agent_id=",
            "/toolset",
        ):
            answer = await client.get(path)
            assert answer.status_code < 500, answer.text

    async def test_the_doctor_names_it(self, client: httpx2.AsyncClient, settings: Settings):
        report = (await client.get("/admin/doctor")).json()
        [check] = [check for check in report["checks"] if check["code"] == "plugin"]
        assert check["name"] == "plugin odd"
        assert f"{settings.plugins_dir / 'odd.py'}:7" in check["found"]
        assert "PermissionClass.READ" in check["fix"]


class TestPluginsThatLeave:
    """Tools and hooks that raise what would end a program."""

    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        settings.plugins_dir.mkdir(parents=True)
        (settings.plugins_dir / "leaving.py").write_text(LEAVING, encoding="utf-8")
        (settings.plugins_dir / "hooks.py").write_text(LEAVING_HOOK, encoding="utf-8")
        return settings

    @pytest.mark.requirement("REG-08")
    async def test_each_tool_fails_alone(self, client: httpx2.AsyncClient):
        for kind in ("thread", "loop", "stream"):
            for error in ("SystemExit", "KeyboardInterrupt", "GeneratorExit", "BaseException"):
                answer = await call(client, f"{kind}_{error}")
                assert (kind, error, answer["status"]) == (kind, error, "error")
                assert (await client.get("/health")).json()["status"] == "ok"
        for name, said in (("begin", "ToolFailed"), ("forget", "begun")):
            assert (await call(client, name))["text"] == said
            assert (await client.get("/health")).json()["status"] == "ok"
        now = await call(client, "time_reasoning", arguments={"operation": "now"})
        assert now["status"] == "success"

    async def test_each_hook_denies_its_tool_alone(self, client: httpx2.AsyncClient):
        given = {
            "calculator": {"expression": "1+1"},
            "text_process": {"operation": "upper", "text": "a"},
            "json_process": {"operation": "validate", "json_string": "1"},
        }
        for name, arguments in given.items():
            answer = await call(client, name, arguments=arguments)
            assert (name, answer["code"]) == (name, "hook_failed")
            assert (await client.get("/health")).json()["status"] == "ok"
        assert (await call(client, "time_reasoning", arguments={"operation": "now"}))[
            "status"
        ] == "success"
