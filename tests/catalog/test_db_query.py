"""The sample plugin, as its documentation promises it."""

from __future__ import annotations

import doctest
import importlib.util
import sqlite3
from pathlib import Path

import orjson
import pytest

from app.catalog.plugins import load_plugins
from app.catalog.registry import ToolRegistry
from app.core.errors import InvalidArguments, ProjectRequired
from app.toolkit.result import ToolResult
from app.toolkit.tool import Tool
from tests.catalog.factories import context

EXAMPLES = Path(__file__).parents[2] / "examples" / "plugins"


class Query:
    """Calls the sample the way the executor does."""

    def __init__(self, tool: Tool) -> None:
        self.tool = tool

    async def __call__(self, sql: str, project: str | None = "demo") -> ToolResult:
        arguments = self.tool.validate(orjson.dumps({"sql": sql}))
        result = await self.tool.function(arguments, context(project_id=project))  # type: ignore[misc]
        assert isinstance(result, ToolResult)
        return result


@pytest.fixture
def db_query() -> Query:
    registry = ToolRegistry()
    assert load_plugins(registry, EXAMPLES, installed=False) == ()
    return Query(registry.snapshot().tools["db_query"])


@pytest.mark.requirement("REG-27")
async def test_the_sample_answers_a_select_and_refuses_everything_else(db_query):
    assert db_query.tool.category == "database"
    answer = await db_query("SELECT item FROM orders WHERE price < 100")
    assert answer.data == {"success": True, "rows": [{"item": "lamp"}]}
    refused = await db_query("DROP TABLE orders")
    assert refused.data == {"success": False, "error": "Only SELECT queries allowed"}
    assert (refused.success, refused.error) == (False, "Only SELECT queries allowed")


async def test_the_sample_takes_the_project_from_the_call_alone(db_query):
    assert list(db_query.tool.parameters["properties"]) == ["sql"]
    with pytest.raises(InvalidArguments):
        db_query.tool.validate(b'{"sql": "SELECT 1", "project_id": "other"}')
    with pytest.raises(ProjectRequired):
        await db_query("SELECT 1", project=None)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1; DELETE FROM orders",
        "SELECT * FROM pragma_table_info('orders')",
        "SELECT load_extension('/tmp/x')",
        "SELECT length(zeroblob(1000000000))",
        "SELECT * FROM missing",
        "SELECT",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) DELETE FROM orders",
        "SELECT count(*) FROM (WITH RECURSIVE n(i) AS "
        "(SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n)",
    ],
)
async def test_the_sample_survives_hostile_sql(db_query, sql):
    answer = await db_query(sql)
    assert answer.success is False
    assert answer.error


async def test_the_sample_opens_the_file_of_the_project_read_only(db_query, tmp_path, monkeypatch):
    with sqlite3.connect(tmp_path / "demo.db") as connection:
        connection.execute("CREATE TABLE mine (x)")
        connection.execute("INSERT INTO mine VALUES (1)")
    connection.close()
    monkeypatch.setenv("DB_QUERY_DIR", str(tmp_path))
    assert (await db_query("SELECT x FROM mine")).data["rows"] == [{"x": 1}]
    for project in ("other", "../demo", "demo.db?mode=rwc"):
        assert (await db_query("SELECT x FROM mine", project)).success is False
    assert [path.name for path in tmp_path.iterdir()] == ["demo.db"]


@pytest.mark.requirement("REG-27")
def test_the_samples_documented_examples_hold():
    spec = importlib.util.spec_from_file_location("db_query_sample", EXAMPLES / "db_query.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    outcome = doctest.testmod(module)
    assert (outcome.failed, outcome.attempted) == (0, 2)
