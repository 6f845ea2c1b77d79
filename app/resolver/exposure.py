"""Tools listed to a model, their names, and their cost.

Listing does not affect permission: every tool of the resolved set can be called.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from app.catalog.catalog import Catalog, wire_name
from app.catalog.formats import estimate_tokens, model_definition
from app.governance.agents import TOOLSET, AgentProfile
from app.resolver.settings import ToolSetting
from app.toolkit.ports import SEARCH_TOOLS
from app.toolkit.tool import Tool


@dataclass(frozen=True, slots=True)
class Exposure:
    """Tools as exposed to a model.

    Attributes:
        visible: canonical names, in the order sent.
        deferred: the rest, found with `search_tools`.
        definitions: canonical name → definition for the model, for both.
        tokens: canonical name → estimated tokens of the definition per request.
    """

    visible: tuple[str, ...] = ()
    deferred: tuple[str, ...] = ()
    definitions: Mapping[str, dict[str, Any]] = field(default_factory=lambda: MappingProxyType({}))
    tokens: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def visible_tokens(self) -> int:
        """Return the tokens of the definitions in one model request."""
        return sum(self.tokens[name] for name in self.visible)


def expose(
    catalog: Catalog,
    names: tuple[str, ...],
    states: Mapping[str, ToolSetting],
    profile: AgentProfile | None,
    max_visible: int,
) -> Exposure:
    """Select the visible tools: core tools first, then those named by the agent, then the rest."""
    family = profile.aliases if profile else None
    definitions = {}
    for name in names:
        tool = catalog.tools[name]
        definitions[name] = model_definition(tool, shown_name(tool, family))
    tokens = {name: estimate_tokens(definition) for name, definition in definitions.items()}
    room = (profile and profile.max_visible_tools) or max_visible
    found = [name for name in names if name != SEARCH_TOOLS]
    if len(found) <= room or SEARCH_TOOLS not in names:
        # Without a search tool nothing is deferred, and without deferred tools the search tool is
        # not needed.
        visible, deferred = found, []
    else:
        ranked = sorted(found, key=_ranking(catalog, states, profile))
        chosen = {*ranked[: max(room - 1, 0)], *(n for n in found if states[n].is_core)}
        visible = [SEARCH_TOOLS, *(name for name in found if name in chosen)]
        deferred = [name for name in found if name not in chosen]
    return Exposure(
        tuple(visible), tuple(deferred), MappingProxyType(definitions), MappingProxyType(tokens)
    )


def shown_name(tool: Tool, family: str | None) -> str:
    """Return the name for the model: the tool's own, or that of the agent's naming profile."""
    for alias in tool.aliases:
        if family is not None and family in alias.families:
            return wire_name(alias.name)
    return wire_name(tool.name)


def definitions_for(exposure: Exposure, found: Iterable[str] = ()) -> list[dict[str, Any]]:
    """Return the definitions of one model request: the visible tools, then those found by
    search.
    """
    more = [name for name in found if name in exposure.definitions]
    names = dict.fromkeys((*exposure.visible, *more))
    return [exposure.definitions[name] for name in names]


def _ranking(
    catalog: Catalog, states: Mapping[str, ToolSetting], profile: AgentProfile | None
) -> Any:
    """Return the sort key: tools named by the operator for this agent precede those of a
    toolset.
    """
    selection = list(profile.selection or ()) if profile else []
    places = {entry: place for place, entry in enumerate(selection)}
    catalog_order = {name: place for place, name in enumerate(catalog.tools)}

    def key(name: str) -> tuple[int, int, int]:
        tool = catalog.tools[name]
        named = name in places or (profile is not None and name in profile.tools)
        place = places.get(name, places.get(TOOLSET + tool.toolset, len(places)))
        return (0 if states[name].is_core else 1 if named else 2, place, catalog_order[name])

    return key
