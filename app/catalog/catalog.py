"""Immutable catalog of every tool of this installation."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from app.toolkit.tool import Alias, Tool

_LONGEST_NAME = 128
_NOT_A_LETTER = re.compile(r"[^a-z0-9]")
_SEPARATOR = re.compile(r"[./:]|__")


@dataclass(frozen=True, slots=True)
class AliasEntry:
    """Alias and the tool that it calls."""

    alias: Alias
    tool: Tool


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """Tool that a name refers to; `alias` is None under the tool's own name."""

    tool: Tool
    alias: Alias | None = None


@dataclass(frozen=True, slots=True)
class PluginProblem:
    """Plugin that is not in the catalog: its name, location and error.

    `code` is for programs, `error` for people; `at` is the file and line, `fix` the correction.
    `brings_hooks` means that its hooks are missing gates.
    """

    name: str
    where: str
    error: str
    code: str
    brings_hooks: bool = False
    at: str = ""
    fix: str = ""


def namespace_key(name: str) -> str:
    """Return the comparison key: names with equal keys conflict; they differ only in case or `.`
    and `_`.
    """
    return wire_name(name).lower()


def wire_name(name: str) -> str:
    """Return the name in the form that model providers accept, without dots."""
    return name.replace(".", "_")


@dataclass(frozen=True, slots=True, eq=False)
class Catalog:
    """One generation of the catalog, created by `ToolRegistry.snapshot`.

    Attributes:
        generation: incremented by every change.
        tools: canonical name → tool, in order of registration.
        aliases: alias name → entry.
        problems: plugins that could not be loaded.
        hooks: canonical name → hooks from its registration.
        global_hooks: plugin name → its `HOOKS`, opaque to the catalog.
    """

    generation: int = 0
    tools: Mapping[str, Tool] = field(default_factory=dict)
    aliases: Mapping[str, AliasEntry] = field(init=False)
    problems: tuple[PluginProblem, ...] = ()
    hooks: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    global_hooks: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    _index: Mapping[str, CatalogEntry] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        aliases = {
            alias.name: AliasEntry(alias, tool)
            for tool in self.tools.values()
            for alias in tool.aliases
        }
        index = {name: CatalogEntry(entry.tool, entry.alias) for name, entry in aliases.items()}
        index |= {name: CatalogEntry(tool) for name, tool in self.tools.items()}
        index |= {wire_name(name): entry for name, entry in index.items()}
        for name, value in (
            ("tools", MappingProxyType(dict(self.tools))),
            ("aliases", MappingProxyType(aliases)),
            ("hooks", MappingProxyType(dict(self.hooks))),
            ("_index", index),
        ):
            object.__setattr__(self, name, value)

    def lookup(self, name: str) -> CatalogEntry | None:
        """Return the tool with the exact name or alias; the spelling of `wire_name` counts as
        exact.
        """
        return self._index.get(name)

    def by_category(self, category: str) -> tuple[Tool, ...]:
        return tuple(tool for tool in self.tools.values() if tool.category == category)

    def by_toolset(self, toolset: str) -> tuple[Tool, ...]:
        return tuple(tool for tool in self.tools.values() if tool.toolset == toolset)

    def suggest(
        self, name: str, *, among: Collection[str] | None = None, limit: int = 3
    ) -> list[str]:
        """Return canonical names similar to the given one, most similar first.

        Case, hyphens and prefixes such as `functions.` are ignored.

        Args:
            among: canonical names visible to the caller; None for all.
        """
        known = self._folded(among)
        name = name[:_LONGEST_NAME]
        guesses: list[str] = []
        for spelling in dict.fromkeys((name, _SEPARATOR.split(name)[-1])):
            folded = _fold(spelling)
            close = difflib.get_close_matches(folded, known, n=limit, cutoff=0.6)
            guesses = ([folded] if folded in known else []) + guesses + close
        return list(dict.fromkeys(known[guess] for guess in guesses))[:limit]

    def _folded(self, among: Collection[str] | None) -> dict[str, str]:
        """Return folded name or alias → canonical name; canonical names take precedence."""
        known = {_fold(name): entry.tool.name for name, entry in self.aliases.items()}
        known |= {_fold(name): name for name in self.tools}
        return {key: name for key, name in known.items() if among is None or name in among}

    def rows(self) -> list[dict[str, Any]]:
        """Return every name as the API shows it: tools, each followed by its aliases.

        An alias has its tool's fields under its own name, with `alias_of`; an alias with another
        result format has no `return_schema`.
        """
        return [row for tool in self.tools.values() for row in rows_of(tool)]


def _fold(name: str) -> str:
    return _NOT_A_LETTER.sub("", name.lower())


def rows_of(tool: Tool) -> Iterable[dict[str, Any]]:
    """Yield a tool as the API shows it, then its aliases, as `Catalog.rows` does."""
    row = {
        **tool.manifest(),
        "alias_of": None,
        "aliases": [alias.name for alias in tool.aliases],
        "argument_aliases": dict(tool.argument_aliases),
        "source": tool.source,
        "toolset": tool.toolset,
        "kind": tool.kind,
        "has_side_effects": tool.has_side_effects,
        "cacheable": tool.cacheable,
        "needs_project": tool.needs_project,
        "interactive": tool.interactive,
        "routing_hint": tool.routing_hint,
        "shell": tool.shell,
        "timeout_s": tool.timeout_s,
        "max_output_chars": tool.max_output_chars,
    }
    yield row
    for alias in tool.aliases:
        shape = row["return_schema"] if alias.reshape is None else None
        named = {"name": alias.name, "alias_of": tool.name}
        yield {**row, **named, "aliases": [], "return_schema": shape}
