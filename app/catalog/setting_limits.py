"""What settings decide in the schema and the description of a tool that this service serves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from operator import attrgetter
from types import MappingProxyType
from typing import Any

from app.config.settings import Settings
from app.toolkit.tool import Tool

_COMMAND = {
    "timeout.default": "sandbox.command_timeout_s",
    "timeout.maximum": "sandbox.command_timeout_max_s",
}
SETTING_LIMITS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "bash": _COMMAND,
        "powershell": _COMMAND,
        "execute_python": {"strictness.default": "code_execution.default_strictness"},
        "text_to_image": {"count.maximum": "images.max_count"},
        "image_to_image": {"count.maximum": "images.max_count"},
        "execute_skill": {"timeout.maximum": "skills.max_timeout_s"},
        "schedule_cron": {"every_seconds.minimum": "schedules.min_interval_s"},
        "delegate_parallel": {"tasks.maxItems": "sub_agent.max_tasks"},
        "team_agent": {"tasks.maxItems": "sub_agent.max_tasks"},
    }
)
"""Tool → `argument.keyword` of its schema → setting that determines it."""


@dataclass(frozen=True, slots=True)
class SettingText:
    """A sentence of a tool's description that a setting can make wrong.

    Attributes:
        setting: its name.
        sentence: as the description has it.
        instead: the sentences for the values of the setting that `sentence` is wrong for.
    """

    setting: str
    sentence: str
    instead: Mapping[str, str]


SETTING_TEXTS: Mapping[str, SettingText] = MappingProxyType(
    {
        "crawl_batch": SettingText(
            "web.respect_robots",
            "The robots.txt of sites is respected.",
            MappingProxyType({"never": "The robots.txt of sites is ignored."}),
        ),
    }
)
"""Tool → the sentence of its description that follows a setting."""


def with_settings(tool: Tool, settings: Settings) -> Tool:
    """The tool with its schema and description adapted to these settings.

    Its validator is unchanged: the tool itself limits or refuses larger values.
    """
    return _limited(_described(tool, settings), settings)


def _described(tool: Tool, settings: Settings) -> Tool:
    text = SETTING_TEXTS.get(tool.name)
    instead = None if text is None else text.instead.get(attrgetter(text.setting)(settings))
    if text is None or instead is None:
        return tool
    if tool.description.count(text.sentence) != 1:
        raise ValueError(
            f"The description of {tool.name} must contain {text.sentence!r} once, which follows "
            f"the setting {text.setting}"
        )
    return replace(tool, description=tool.description.replace(text.sentence, instead))


def _limited(tool: Tool, settings: Settings) -> Tool:
    limits = SETTING_LIMITS.get(tool.name)
    if limits is None:
        return tool
    properties = dict(tool.parameters["properties"])
    for place, setting in limits.items():
        argument, keyword = place.split(".")
        value = attrgetter(setting)(settings)
        properties[argument] = _within(_changed(properties[argument], keyword, value))
    return replace(tool, parameters={**tool.parameters, "properties": properties})


def _changed(schema: Mapping[str, Any], keyword: str, value: Any) -> dict[str, Any]:
    """Return the schema with another value of a keyword; nullable arguments have it in one branch.

    Raises:
        KeyError: the schema does not have the keyword.
    """
    if keyword in schema:
        return {**schema, keyword: value}
    branches = schema["anyOf"]
    if not any(keyword in branch for branch in branches):
        raise KeyError(keyword)
    changed = [{**branch, keyword: value} if keyword in branch else branch for branch in branches]
    return {**schema, "anyOf": changed}


def _within(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema with its default limited to the maximum, as calls apply it."""
    if "maximum" not in schema or "default" not in schema:
        return schema
    return {**schema, "default": min(schema["default"], schema["maximum"])}
