"""`@tool`: one async function and its arguments model become one frozen `Tool`.

The decorator registers nothing. A toolset lists its tools, the catalog lists the
toolsets, and only then can anybody call them.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from app.operations.protocols.sandbox import Level
from app.toolkit.context import Output, ToolContext
from app.toolkit.result import ToolResult
from app.toolkit.schema import argument_validator, model_schema
from app.toolkit.services import Services

CONTROL_KEYS = "\x03\x04\x1a\x1c"
"""Interrupt, end of input, suspend, quit: control characters with no content to execute."""
NO_ALIASES: Mapping[str, str] = MappingProxyType({})


class PermissionClass(StrEnum):
    """Highest permission that a call may need."""

    READ = "READ"
    WRITE = "WRITE"
    EXTERNAL = "EXTERNAL"


class SideEffectScope(StrEnum):
    """Scope of the side effects of a call."""

    NONE = "NONE"
    LOCAL_STATE = "LOCAL_STATE"
    DB_WRITE = "DB_WRITE"
    NETWORK = "NETWORK"


Source = Literal["builtin", "plugin", "mcp", "external"]
Route = Literal["worker-local", "main-process-proxy"]
PROXY: Route = "main-process-proxy"
Kind = Literal["read", "edit", "delete", "search", "execute", "think", "fetch", "other"]
_EDITS = frozenset({"edit", "delete"})
_TUPLES = ("tags", "aliases", "requires", "programs", "platforms")


class ToolArgs(BaseModel):
    """Base of every arguments model: no coercion, no unknown keys, immutable.

    `True` is not an integer, `"1"` is not a number; every problem is reported at once. What a
    caller writes as `"1"` or `1.0` for 1 is coerced before.
    """

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


Returned = ToolResult | str | dict[str, Any] | list[Any] | None
ToolFunction = Callable[
    [Any, ToolContext], Awaitable[Returned] | AsyncIterator[Output | str | ToolResult]
]
Validator = Callable[[bytes], Any]
ArgumentAdapter = Callable[[dict[str, Any]], dict[str, Any]]
ResultAdapter = Callable[[ToolResult], ToolResult]
PathFinder = Callable[[Mapping[str, Any]], Sequence[str]]


@dataclass(frozen=True, slots=True)
class Alias:
    """Another name for a tool, with the argument and result shape its users know.

    Attributes:
        adapt: raw arguments under this name → raw arguments of the tool.
        reshape: the tool's result → the shape this name's users expect.
        families: naming profiles under which a model sees the tool by this name.
    """

    name: str
    adapt: ArgumentAdapter | None = None
    reshape: ResultAdapter | None = None
    families: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """Everything the gate knows about one tool. Build it with `tool` or the catalog's factories.

    Attributes:
        description: what the model reads.
        parameters: JSON Schema of the arguments, exactly what validation enforces; a built-in
            tool that is served has the limits of the settings, which it keeps by itself.
        validate: raw JSON bytes → validated arguments; raises `InvalidArguments`.
        function: what runs; a coroutine function or an async generator function.
        is_streaming: `function` is an async generator that yields output as it comes
            and, as its last item, may yield a `ToolResult`.
        cacheable: equal calls of a session may share a result until something is written.
        needs_project: refuse the call when there is no project.
        interactive: waits for a person.
        timeout_s: seconds a call may run; None for the service's default.
        max_output_chars: what of `text` the model gets; the rest is spilled to an artifact.
        argument_aliases: other names a model may use for an argument.
        paths_in: paths that stand inside a text among its arguments: given those, what rules on
            paths look at too. What it raises makes them not known.
        shell: its `command_argument` is run by this shell, so risk analysis reads it.
        command_argument: the argument that holds it.
        language: what the `command_argument` of a tool without a `shell` is written in: it is
            analyzed when `asks` speaks.
        asks: validated arguments → why such a call asks in any case; None when it need not.
            What a tool with a `shell` and this types goes into a running program, so that
            control keys around it are no part of a command.
        sandbox: the least of the sandbox that what it starts needs: without it the tool is off.
        core: stays available to an agent whose selection does not name it.
        subagent_allowed: a sub-agent may call it; one that is interactive never is.
        delegates: it starts sub-agents, which a sub-agent may do only where that is allowed.
        requires: services or settings without which it cannot work.
        programs: what must be installed where commands find it.
        platforms: where it works, as `sys.platform` begins; empty for everywhere.
        edits_files: it changes files of the project itself, not by a program that it starts.
        sends: its arguments may go to other hosts as they are, and not as code or as a task.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    validate: Validator
    function: ToolFunction
    category: str = "general"
    toolset: str = "general"
    permission_class: PermissionClass = PermissionClass.READ
    side_effect_scope: SideEffectScope = SideEffectScope.NONE
    requires_confirmation: bool = False
    is_streaming: bool = False
    cacheable: bool = False
    needs_project: bool = False
    interactive: bool = False
    kind: Kind = "other"
    routing_hint: Route = "worker-local"
    tags: tuple[str, ...] = ()
    aliases: tuple[Alias, ...] = ()
    argument_aliases: Mapping[str, str] = field(default_factory=lambda: NO_ALIASES)
    return_schema: Mapping[str, Any] | None = None
    paths_in: PathFinder | None = None
    shell: Literal["bash", "powershell", "cmd"] | None = None
    command_argument: str = "command"
    language: Literal["python"] | None = None
    asks: Callable[[Any, Services], str | None] | None = None
    timeout_s: float | None = None
    max_output_chars: int | None = None
    source: Source = "builtin"
    sandbox: Level | None = None
    core: bool = False
    subagent_allowed: bool = True
    delegates: bool = False
    requires: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    platforms: tuple[str, ...] = ()
    has_side_effects: bool = field(init=False)
    edits_files: bool = field(init=False)
    sends: bool = field(init=False)

    def __post_init__(self) -> None:
        for name in _TUPLES:
            if isinstance(listed := getattr(self, name), list):
                object.__setattr__(self, name, tuple(listed))
        # Asked for several times in every call: found once.
        changes = self.permission_class is not PermissionClass.READ
        object.__setattr__(self, "has_side_effects", changes)
        edits = changes and self.needs_project and self.shell is None and self.kind in _EDITS
        object.__setattr__(self, "edits_files", edits)
        runs = self.shell is not None or self.language is not None or self.kind == "execute"
        is_data = not runs and not self.delegates
        sends = is_data and self.permission_class is PermissionClass.EXTERNAL
        object.__setattr__(self, "sends", sends)

    @property
    def route(self) -> Route:
        """Process in which a sub-agent's call runs: its own process only for trusted built-in tools
        that change nothing and need no service.
        """
        ours = self.source == "builtin" and not self.requires
        return self.routing_hint if ours and not self.has_side_effects else PROXY

    def manifest(self) -> dict[str, Any]:
        """The serializable description: the seeds' ten fields."""
        return {
            "name": self.name,
            "description": self.description,
            "category": self.category,
            "parameters": dict(self.parameters),
            "return_schema": dict(self.return_schema) if self.return_schema else None,
            "permission_class": self.permission_class.value,
            "side_effect_scope": self.side_effect_scope.value,
            "requires_confirmation": self.requires_confirmation,
            "is_streaming": self.is_streaming,
            "tags": list(self.tags),
        }


def tool(
    *,
    category: str = "general",
    toolset: str = "general",
    permission: PermissionClass = PermissionClass.READ,
    side_effect: SideEffectScope = SideEffectScope.NONE,
    name: str | None = None,
    **options: Any,
) -> Callable[[ToolFunction], Tool]:
    """Turn `async def f(args: SomeArgs, ctx: ToolContext)` into a `Tool`.

    The function's docstring is what the model reads, its name is the tool's name, and
    the annotation of its first parameter is the arguments model. `options` are further
    fields of `Tool`.

    Raises:
        TypeError: the function is not async, has no docstring, its first parameter is not
            annotated with a subclass of `ToolArgs`, or an option is no field of `Tool`.
    """
    _check_options(options)

    def build(function: ToolFunction) -> Tool:
        streaming = inspect.isasyncgenfunction(function)
        if not streaming and not inspect.iscoroutinefunction(function):
            raise TypeError(f"tool {function!r} must be an async function")
        description = inspect.getdoc(function)
        if not description:
            raise TypeError(f"tool {function!r} needs a docstring: the model reads it")
        model = _arguments_model(function)
        return Tool(
            name=name or function.__name__,
            description=description,
            parameters=model_schema(model),
            validate=argument_validator(model),
            function=function,
            category=category,
            toolset=toolset,
            permission_class=permission,
            side_effect_scope=side_effect,
            is_streaming=streaming,
            **options,
        )

    return build


# What the decorator calls otherwise, and what it finds out by itself.
_RENAMED = {"permission_class": "permission", "side_effect_scope": "side_effect"}
_FOUND_OUT = {"description", "parameters", "validate", "function", "is_streaming"}


def _check_options(options: Mapping[str, Any]) -> None:
    known = {item.name for item in fields(Tool) if item.init} - _FOUND_OUT - _RENAMED.keys()
    for name in options.keys() - known:
        candidates = [*known, *_RENAMED.values()]
        meant = _RENAMED.get(name) or next(iter(get_close_matches(name, candidates, n=1)), None)
        hint = f"; did you mean {meant!r}?" if meant else ""
        raise TypeError(f"`@tool` has no option {name!r}{hint}")


def _arguments_model(function: ToolFunction) -> type[ToolArgs]:
    parameters = list(inspect.signature(function, eval_str=True).parameters.values())
    model = parameters[0].annotation if parameters else None
    if not (inspect.isclass(model) and issubclass(model, ToolArgs)):
        raise TypeError(f"the first parameter of {function!r} must be a ToolArgs model")
    return model
