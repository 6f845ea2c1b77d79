"""Limits and defaults in the schemas of tools are those of the settings."""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter
from typing import Any

import pytest

from app.catalog.builtin import load_builtin, register_all_tools
from app.catalog.registry import ToolRegistry
from app.catalog.setting_limits import SETTING_LIMITS
from app.config.settings import Settings

USUAL = Settings.model_construct()
OTHERS: dict[str, Any] = {
    "sandbox.command_timeout_s": 7,
    "sandbox.command_timeout_max_s": 90,
    "code_execution.default_strictness": "strict",
    "images.max_count": 2,
    "skills.max_timeout_s": 77,
    "schedules.min_interval_s": 600,
    "sub_agent.max_tasks": 3,
}
EVERY = [
    (tool, place, setting)
    for tool, limits in SETTING_LIMITS.items()
    for place, setting in limits.items()
]


def changed(*changes: tuple[str, Any]) -> Settings:
    """The usual settings with others in their sections."""
    settings = USUAL
    for setting, value in changes:
        section, name = setting.split(".")
        reported = getattr(settings, section).model_copy(update={name: value})
        settings = settings.model_copy(update={section: reported})
    return settings


def schemas(settings: Settings | None) -> dict[str, Mapping[str, Any]]:
    registry = register_all_tools(installed_plugins=False, settings=settings)
    return {name: tool.parameters for name, tool in registry.snapshot().tools.items()}


def found(schema: Mapping[str, Any], place: str) -> Any:
    """The value of a keyword, of the argument itself or of the branch that has it."""
    argument, keyword = place.split(".")
    whole = schema["properties"][argument]
    (value,) = [part[keyword] for part in (whole, *whole.get("anyOf", ())) if keyword in part]
    return value


@pytest.mark.parametrize(("tool", "place", "setting"), EVERY)
def test_what_is_served_follows_the_setting(tool: str, place: str, setting: str):
    other = OTHERS[setting]
    assert found(schemas(USUAL)[tool], place) == attrgetter(setting)(USUAL) != other
    assert found(schemas(changed((setting, other)))[tool], place) == other


def test_nothing_else_of_any_schema_changes():
    usual, other = schemas(USUAL), schemas(changed(*OTHERS.items()))
    for tool, schema in other.items():
        restored = {name: dict(part) for name, part in schema["properties"].items()}
        for place in SETTING_LIMITS.get(tool, {}):
            argument = place.split(".")[0]
            restored[argument] = usual[tool]["properties"][argument]
        assert {**schema, "properties": restored} == usual[tool], tool


@pytest.mark.parametrize(("tool", "place", "setting"), EVERY)
def test_a_call_within_what_is_served_is_taken(tool: str, place: str, setting: str):
    keyword = place.split(".")[1]
    section, name = setting.split(".")
    reported = type(getattr(USUAL, section)).model_json_schema()["properties"][name]
    own = found(schemas(None)[tool], place)
    if keyword in ("maximum", "maxItems"):
        assert reported["maximum"] <= own
    elif keyword == "minimum":
        assert reported["minimum"] >= own


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ("crawl", "The robots.txt of sites is respected."),
        ("always", "The robots.txt of sites is respected."),
        ("never", "The robots.txt of sites is ignored."),
    ],
)
def test_what_crawl_batch_says_about_robots_follows_the_setting(value: str, sentence: str):
    settings = changed(("web.respect_robots", value))
    registry = register_all_tools(installed_plugins=False, settings=settings)
    description = registry.snapshot().tools["crawl_batch"].description
    assert sentence in description
    assert ("is respected" in description) == (value != "never")
    assert description.startswith("Fetch up to 10 web pages")
    assert "Returns results in the order of urls" in description


def test_a_default_is_never_above_the_maximum():
    settings = changed(("sandbox.command_timeout_max_s", 20))
    for tool in ("bash", "powershell"):
        timeout = schemas(settings)[tool]["properties"]["timeout"]
        assert (timeout["default"], timeout["maximum"]) == (20, 20)


def test_loading_again_with_settings_changes_nothing():
    registry = ToolRegistry()
    load_builtin(registry, settings=USUAL)
    once = registry.snapshot()
    load_builtin(registry, settings=USUAL)
    load_builtin(registry)
    assert registry.snapshot() is once
