"""Registry of tools: registration, removal, and creation of the next catalog.

The composition root creates one and passes it on; there is no global. It belongs to the event
loop's thread. Only the executor runs tools.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from app.catalog.catalog import Catalog, PluginProblem, namespace_key, wire_name
from app.catalog.declarations import check_tool
from app.catalog.errors import DuplicateTool
from app.catalog.formats import render
from app.core.errors import ToolNotFound
from app.toolkit.tool import Tool, ToolFunction

OnChange = Callable[[Catalog], None]


@dataclass(frozen=True, slots=True)
class _Taken:
    """Name in use, as written, and the tool that owns it."""

    name: str
    owner: str


@dataclass(frozen=True, slots=True)
class _RegistryState:
    generation: int = 0
    tools: Mapping[str, Tool] = field(default_factory=dict)
    names: Mapping[str, _Taken] = field(default_factory=dict)
    hooks: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    global_hooks: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    problems: Mapping[str, tuple[PluginProblem, ...]] = field(default_factory=dict)


class ToolRegistry:
    """Tools by name. Names and aliases share one case-insensitive namespace."""

    def __init__(self) -> None:
        self._state = _RegistryState()
        self._catalog = Catalog()
        self._announced = 0
        self._numbers = itertools.count(1)
        self._depth = 0
        self._listeners: list[OnChange] = []

    def register(self, tool: Tool, *, replace: bool = False, hooks: Sequence[Any] = ()) -> None:
        """Add a tool with its aliases; `hooks` apply to this tool only.

        Args:
            replace: replace the tool with exactly this name, and its aliases.

        Raises:
            DuplicateTool: a name is in use, or differs from one only in case.
            InvalidTool: a declaration of the tool is invalid.
        """
        check_tool(tool)
        state = self._state
        gone = tool.name if replace and tool.name in state.tools else None
        names = dict(state.names)
        if gone is not None:
            names = {key: taken for key, taken in names.items() if taken.owner != gone}
        for name in (tool.name, *(alias.name for alias in tool.aliases)):
            taken = names.setdefault(namespace_key(name), owned := _Taken(name, tool.name))
            if taken is not owned and not _is_own_spelling(name, taken, tool):
                raise _duplicate(name, taken)
        attached = dict(state.hooks)
        if gone is not None:
            attached.pop(gone, None)
        if hooks:
            attached[tool.name] = tuple(hooks)
        self._change(tools={**state.tools, tool.name: tool}, names=names, hooks=attached)

    def unregister(self, name: str) -> Tool:
        """Remove a tool with its aliases and hooks, and return it.

        Raises:
            ToolNotFound: no tool has this canonical name.
        """
        state = self._state
        if name not in state.tools:
            raise ToolNotFound(f"Tool not found: {name}")
        self._change(
            tools={key: tool for key, tool in state.tools.items() if key != name},
            names={key: taken for key, taken in state.names.items() if taken.owner != name},
            hooks={key: found for key, found in state.hooks.items() if key != name},
        )
        return state.tools[name]

    def add_hooks(self, plugin: str, hooks: Sequence[Any]) -> None:
        """Store a plugin's `HOOKS` for the hooks package."""
        known = self._state.global_hooks
        self._change(global_hooks={**known, plugin: (*known.get(plugin, ()), *hooks)})

    def set_problems(self, origin: str, problems: Sequence[PluginProblem]) -> None:
        """Replace the earlier reports of `origin`."""
        self._change(problems={**self._state.problems, origin: tuple(problems)})

    def get(self, name: str) -> Tool | None:
        """Return the tool with the canonical name or alias."""
        if namespace_key(name) not in self._state.names:
            return None  # without a new catalog: callers often register the tool next
        entry = self.snapshot().lookup(name)
        return entry.tool if entry else None

    def get_executor(self, name: str) -> ToolFunction | None:
        """Return the function of a tool for inspection: calls go through the executor."""
        tool = self.get(name)
        return tool.function if tool else None

    def list_all(self) -> list[dict[str, Any]]:
        """Return every tool's definition in OpenAI format, without aliases."""
        return render(self._state.tools.values(), "openai")

    def list_by_category(self, category: str) -> tuple[Tool, ...]:
        return self.snapshot().by_category(category)

    def list_by_toolset(self, toolset: str) -> tuple[Tool, ...]:
        return self.snapshot().by_toolset(toolset)

    @property
    def generation(self) -> int:
        return self._state.generation

    def snapshot(self) -> Catalog:
        """Return the current catalog; the same object until something changes."""
        state = self._state
        if self._catalog.generation != state.generation:
            problems = tuple(itertools.chain.from_iterable(state.problems.values()))
            self._catalog = Catalog(
                state.generation, state.tools, problems, state.hooks, state.global_hooks
            )
        return self._catalog

    def on_change(self, callback: OnChange) -> Callable[[], None]:
        """Call `callback` with every new catalog; the returned function unsubscribes."""
        self._listeners.append(callback)

        def stop() -> None:
            if callback in self._listeners:
                self._listeners.remove(callback)

        return stop

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Apply several changes with one notification, or none of them after an error."""
        before = self._state
        self._depth += 1
        try:
            yield
        except BaseException:
            self._state = before
            raise
        finally:
            self._depth -= 1
        self._announce()

    def _change(self, **changes: Any) -> None:
        self._state = replace(self._state, generation=next(self._numbers), **changes)
        self._announce()

    def _announce(self) -> None:
        if self._depth or self._announced == self._state.generation:
            return
        self._announced = self._state.generation
        catalog = self.snapshot()
        for listener in tuple(self._listeners):
            listener(catalog)


def _is_own_spelling(name: str, taken: _Taken, tool: Tool) -> bool:
    """Return whether an alias differs from its own tool's name only in case, like `Git` from
    `git`.
    """
    is_another = wire_name(name) != wire_name(taken.name)
    return taken.owner == tool.name and is_another


def _duplicate(name: str, taken: _Taken) -> DuplicateTool:
    message = f"Tool '{name}' is already registered"
    if taken.name != name:
        message += f" as '{taken.name}': names that differ only in case, '.' and '_' conflict"
    elif taken.owner != name:
        message += f" as an alias of '{taken.owner}'"
    return DuplicateTool(message, name=name, owner=taken.owner)
