"""Looking names up, guessing what was meant, and the rows of the API."""

from __future__ import annotations

import orjson
import pytest

from app.catalog.catalog import Catalog, CatalogEntry
from tests.catalog.factories import make_tool

BASH = make_tool("bash", "exec", "BashTool", category="shell")
READ = make_tool("read_file", "file_read")
QUERY = make_tool("db.query")
CATALOG = Catalog(1, {tool.name: tool for tool in (BASH, READ, QUERY)})


def test_a_name_leads_to_its_tool_and_an_alias_to_both():
    assert CATALOG.lookup("bash") == CatalogEntry(BASH)
    assert CATALOG.lookup("exec") == CatalogEntry(BASH, BASH.aliases[0])
    assert CATALOG.aliases["exec"].tool is BASH


@pytest.mark.parametrize("name", ["Bash", "bash ", "functions.bash", "", "READ_FILE"])
def test_only_the_exact_spelling_is_found(name):
    assert CATALOG.lookup(name) is None


def test_a_dotted_name_is_found_in_the_spelling_models_use():
    assert CATALOG.lookup("db_query") == CATALOG.lookup("db.query") == CatalogEntry(QUERY)


@pytest.mark.parametrize(
    ("misspelled", "meant"),
    [
        ("Bash", "bash"),
        ("functions.bash", "bash"),
        ("default_api:bash", "bash"),
        ("mcp__files__read_file", "read_file"),
        ("read-file", "read_file"),
        ("ReadFile", "read_file"),
        ("raed_file", "read_file"),
        ("EXEC", "bash"),
        ("bash_tool", "bash"),
    ],
)
def test_a_misspelled_name_is_recognised(misspelled, meant):
    assert CATALOG.suggest(misspelled)[0] == meant


def test_a_strange_name_gets_no_guess_and_an_endless_one_an_answer():
    assert CATALOG.suggest("qqqqqqqq") == []
    assert CATALOG.suggest("") == []
    assert CATALOG.suggest("x" * 1_000_000) == []


def test_only_tools_the_caller_may_know_are_suggested():
    assert CATALOG.suggest("Bash", among={"read_file"}) == []
    assert CATALOG.suggest("EXEC", among={"bash"}) == ["bash"]


@pytest.mark.requirement("REG-19")
def test_every_name_has_a_row_with_the_ten_manifest_fields_and_its_source():
    rows = {row["name"]: row for row in CATALOG.rows()}
    assert list(rows) == ["bash", "exec", "BashTool", "read_file", "file_read", "db.query"]
    manifest = {
        "name",
        "description",
        "category",
        "parameters",
        "return_schema",
        "permission_class",
        "side_effect_scope",
        "requires_confirmation",
        "is_streaming",
        "tags",
    }
    assert all(manifest | {"source", "alias_of"} <= row.keys() for row in rows.values())
    assert rows["bash"]["alias_of"] is None
    assert rows["bash"]["aliases"] == ["exec", "BashTool"]
    assert rows["exec"]["alias_of"] == "bash"
    assert rows["exec"]["parameters"] == rows["bash"]["parameters"]


def test_rows_are_plain_json():
    assert orjson.loads(orjson.dumps(CATALOG.rows())) == CATALOG.rows()
