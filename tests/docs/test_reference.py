"""Nothing that a user can name is without its page."""

import re
import tomllib

import pytest

from app.api.ws.commands import COMMAND_TYPES
from app.catalog.builtin import register_all_tools
from app.config.settings import Settings
from app.core.errors import TollgateError
from app.events.union import server_message
from app.execution.hooks.model import HookAction, HookType
from app.governance.identity.tokens import SCOPES
from scripts.generate_docs import pages as generated
from scripts.generate_docs import schema_type, stale, write
from tests.docs.pages import first_cells, read, section
from tests.support.source import ROOT


def test_generated_pages_are_up_to_date():
    assert stale(ROOT) == []


def test_a_page_that_is_missing_or_was_changed_by_hand_is_stale(tmp_path):
    assert set(stale(tmp_path)) == set(generated())
    write(tmp_path)
    assert stale(tmp_path) == []
    page = tmp_path / "docs" / "errors.md"
    page.write_text(page.read_text(encoding="utf-8") + "more\n", encoding="utf-8")
    assert [path.name for path in stale(tmp_path)] == ["errors.md"]


@pytest.mark.requirement("DOC-02", "FS-04")
def test_one_function_builds_the_catalog_and_every_tool_and_parameter_has_its_row():
    catalog = register_all_tools(installed_plugins=False).snapshot()
    titles = re.findall(r"^## (.+)$", read("docs/tools.md"), re.MULTILINE)
    assert titles == list(catalog.tools)
    for tool in catalog.tools.values():
        text = section("docs/tools.md", tool.name)
        assert first_cells(text) == list(tool.parameters["properties"])
        assert tool.description.splitlines()[0] in text
        assert [name for name in tool.argument_aliases if f"`{name}`" not in text] == []
        assert [alias.name for alias in tool.aliases if f"`{alias.name}`" not in text] == []


def test_every_parameter_of_a_tool_says_what_it_means():
    catalog = register_all_tools(installed_plugins=False).snapshot()
    silent = [
        (tool.name, name)
        for tool in catalog.tools.values()
        for name, schema in tool.parameters["properties"].items()
        if not schema.get("description")
    ]
    assert silent == []


@pytest.mark.requirement("CFG-01")
def test_every_setting_has_its_row_with_both_its_names():
    names = []
    for name, field in Settings.model_fields.items():
        inner = getattr(field.annotation, "model_fields", None)
        names += [f"{name}.{key}" for key in inner] if inner else [name]
    rows = re.findall(r"^\| `(\w+)` \| `([\w.]+)` \|", read("docs/configuration.md"), re.MULTILINE)
    assert sorted(key for _, key in rows) == sorted(names)
    for variable, key in rows:
        plain = key.replace(".", "__").upper()
        providers = plain.startswith(("ANTHROPIC_", "OPENAI_"))
        assert variable == (plain if providers else f"TOLLGATE_{plain}")


def test_every_command_event_and_control_message_has_its_section():
    sent = set(server_message.json_schema(mode="serialization")["discriminator"]["mapping"])
    titles = set(re.findall(r"^### (.+)$", read("docs/protocol-messages.md"), re.MULTILINE))
    assert (sent | COMMAND_TYPES) - titles == set()


def test_every_error_code_has_its_row():
    def codes(kind: type[TollgateError]) -> set[str]:
        mine = {kind.code} if kind.__module__ == "app.core.errors" else set()
        return mine.union(*(codes(child) for child in kind.__subclasses__()))

    rows = set(
        re.findall(r"^\| (?:&nbsp;)*`(\w+)` \| \d{3} \|", read("docs/errors.md"), re.MULTILINE)
    )
    assert codes(TollgateError) - rows == set()


def test_every_hook_type_action_and_scope_is_explained():
    hooks = read("docs/hooks.md")
    words = [*HookType, *HookAction]
    assert [
        word for word in words if not re.search(rf"^\|.*`{word.value}`", hooks, re.MULTILINE)
    ] == []
    assert [scope for scope in SCOPES if f"`{scope}`" not in read("docs/protocol.md")] == []


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "integer", "minimum": 1, "maximum": 5000}, "integer (minimum 1, maximum 5,000)"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "string or null"),
        (
            {"type": "array", "items": {"type": "string"}, "maxItems": 2},
            "list of string (maximum items 2)",
        ),
        ({"enum": ["a", "b"]}, '`"a"`, `"b"`'),
        ({"$ref": "#/$defs/Risk"}, "[Risk](#risk)"),
        ({}, "any"),
    ],
)
def test_a_schema_is_reported_in_a_few_words(schema, words):
    assert schema_type(schema) == words


def test_the_layers_on_the_page_are_those_that_are_enforced():
    with (ROOT / "pyproject.toml").open("rb") as file:
        contracts = tomllib.load(file)["tool"]["importlinter"]["contracts"]
    enforced = [layer.replace(" ", "").split("|") for layer in contracts[0]["layers"]]
    drawn = re.findall(
        r"^(\w+(?: \| \w+)?) {2,}", section("docs/architecture.md", "Packages"), re.MULTILINE
    )
    shown = [layer.split(" | ") for layer in drawn]
    assert [set(layer) for layer in enforced] == [set(layer) for layer in shown]
