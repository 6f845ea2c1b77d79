"""Validation of tool declarations against what the gate, the wire and the pages support.

Each fault names its field and the fix; all faults of a tool are reported together. A tool without
faults can be listed, shown to a model, governed and called.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, get_args

import orjson

from app.catalog.catalog import wire_name
from app.catalog.errors import InvalidTool
from app.core.error_boundary import try_call
from app.operations.protocols.sandbox import Level
from app.toolkit.context import ToolContext
from app.toolkit.result import ToolResult
from app.toolkit.tool import Alias, Kind, PermissionClass, Route, SideEffectScope, Source, Tool

NAME_PATTERN = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}")

_WORD_CHARS = 64
_DESCRIPTION_CHARS = 20_000
_MOST_SECONDS = 7 * 86_400
_SHOWN_CHARS = 80
_LEAVES_A_TRACE = (SideEffectScope.LOCAL_STATE, SideEffectScope.DB_WRITE)
_FLAGS = (
    "requires_confirmation",
    "is_streaming",
    "cacheable",
    "needs_project",
    "interactive",
    "core",
    "subagent_allowed",
    "delegates",
)
_CHOICES: Mapping[str, tuple[Any, ...]] = {
    "kind": get_args(Kind),
    "routing_hint": get_args(Route),
    "source": get_args(Source),
    "shell": ("bash", "powershell", "cmd", None),
    "language": ("python", None),
    "sandbox": (*get_args(Level), None),
}
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_RETURNED = (ToolResult, str, dict, list, tuple, int, float, type(None))


class Fault(NamedTuple):
    """Problem of one field, with its fix."""

    field: str
    message: str
    fix: str


Faults = Iterator[Fault]


def check_tool(tool: object, *, foreign: bool = False) -> None:
    """Refuse declarations that the catalog, the wire or a model provider does not support.

    Args:
        foreign: also check the function's signature and its schemas, which is too slow at startup
            for built-in tools.

    Raises:
        InvalidTool: the message names each field; `details` contain `fix` and `errors`.
    """
    if not isinstance(tool, Tool):
        raise InvalidTool(
            f"expected a Tool, got {type(tool).__name__}",
            fix="List objects created by `@tool`, `from_schema` or `from_class`",
        )
    faults = [fault for look in _LOOKS for fault in look(tool)]
    # Checks that require valid fields.
    for look in (_encoded, *((_command, _signature, _valid_schemas) if foreign else ())):
        faults = faults or list(look(tool))
    if faults:
        raise invalid(faults)


def invalid(faults: Iterable[Fault]) -> InvalidTool:
    """Return one error that lists every fault."""
    listed = list(faults)
    return InvalidTool(
        "; ".join(fault.message for fault in listed),
        fix="; ".join(dict.fromkeys(fault.fix for fault in listed)),
        errors=[{"path": fault.field, "message": fault.message} for fault in listed],
    )


def _shown(value: object) -> str:
    # Foreign classes may raise anything.
    text, _ = try_call(repr, value)
    if not isinstance(text, str):
        text = f"a {type(value).__name__}"
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}…"


def _names(tool: Tool) -> Faults:
    if not isinstance(tool.aliases, tuple) or not all(isinstance(a, Alias) for a in tool.aliases):
        yield Fault("aliases", "aliases must be a tuple of Alias", 'Write aliases=(Alias("name"),)')
        return
    for name in (tool.name, *(alias.name for alias in tool.aliases)):
        if not isinstance(name, str) or not NAME_PATTERN.fullmatch(name):
            yield Fault(
                "name",
                f"tool name {_shown(name)} must start with a letter, followed by at "
                "most 63 letters, digits, '_', '.' or '-'",
                "Choose a valid name",
            )
    spelt = [wire_name(alias.name) for alias in tool.aliases if isinstance(alias.name, str)]
    for name in dict.fromkeys(name for name in spelt if spelt.count(name) > 1):
        yield Fault("aliases", f"duplicate alias {_shown(name)}", "Name it only once")
    for alias in tool.aliases:
        if not all(item is None or callable(item) for item in (alias.adapt, alias.reshape)):
            message = f"alias {_shown(alias.name)}: adapt and reshape must be functions"
            yield Fault("aliases", message, "Pass functions, or omit them")
        if not _is_texts(alias.families):
            message = f"alias {_shown(alias.name)}: families must be a tuple of text"
            yield Fault("aliases", message, 'Write families=("name",)')


def _words(tool: Tool) -> Faults:
    if not isinstance(tool.description, str) or not tool.description.strip():
        message = f"tool {_shown(tool.name)} needs a description: the model reads it"
        yield Fault("description", message, "Describe in one sentence what the tool does")
    elif len(tool.description) > _DESCRIPTION_CHARS:
        message = f"the description has {len(tool.description)} characters"
        yield Fault("description", message, f"Use at most {_DESCRIPTION_CHARS}")
    for field in ("category", "toolset"):
        value = getattr(tool, field)
        if not _is_word(value):
            message = (
                f"{field} must be a word of 1 to {_WORD_CHARS} characters, not {_shown(value)}"
            )
            yield Fault(field, message, f'Write {field}="general", or another word')
    for field in ("tags", "requires", "programs", "platforms"):
        value = getattr(tool, field)
        if not _is_texts(value):
            message = f"{field} must be a tuple of text, not {_shown(value)}"
            yield Fault(field, message, f'Write {field}=("one",)')
    for value in (tool.description, *_texts(tool.tags), tool.category, tool.toolset):
        if isinstance(value, str) and not _is_encodable(value):
            message = f"{_shown(value)} contains a lone surrogate"
            yield Fault("description", message, "Remove it")


def _effects(tool: Tool) -> Faults:
    for field, kind in (
        ("permission_class", PermissionClass),
        ("side_effect_scope", SideEffectScope),
    ):
        value = getattr(tool, field)
        if not isinstance(value, kind):
            choices = " or ".join(f"{kind.__name__}.{member.name}" for member in kind)
            argument = "permission" if field == "permission_class" else "side_effect"
            yield Fault(
                field,
                f"{field} must be a {kind.__name__}, not {_shown(value)}",
                f"Write {choices} (with `@tool` the argument is called `{argument}`)",
            )
    if tool.permission_class is PermissionClass.READ and tool.side_effect_scope in _LEAVES_A_TRACE:
        message = f"a READ tool cannot have the side effect {tool.side_effect_scope}"
        yield Fault(
            "side_effect_scope",
            message,
            "Declare PermissionClass.WRITE, or SideEffectScope.NONE if it changes nothing",
        )
    for field, allowed in _CHOICES.items():
        value = getattr(tool, field)
        if not isinstance(value, str | None) or value not in allowed:
            listed = ", ".join(map(repr, allowed))
            yield Fault(
                field, f"{field} must be one of {listed}, not {_shown(value)}", "Choose one"
            )


def _flags(tool: Tool) -> Faults:
    for field in _FLAGS:
        value = getattr(tool, field)
        if not isinstance(value, bool):
            message = f"{field} must be True or False, not {_shown(value)}"
            yield Fault(field, message, f"Write {field}=True or {field}=False")


def _limits(tool: Tool) -> Faults:
    seconds, chars = tool.timeout_s, tool.max_output_chars
    if seconds is not None and not (_is_number(seconds) and 0 < seconds <= _MOST_SECONDS):
        message = f"timeout_s must be a number of seconds greater than 0, not {_shown(seconds)}"
        yield Fault("timeout_s", message, f"Use a number up to {_MOST_SECONDS}, or omit it")
    if chars is not None and not (
        isinstance(chars, int) and not isinstance(chars, bool) and chars > 0
    ):
        message = f"max_output_chars must be a whole number greater than 0, not {_shown(chars)}"
        yield Fault("max_output_chars", message, "Use a valid number, or omit it")


def _functions(tool: Any) -> Faults:
    for field in ("paths_in", "asks"):
        value = getattr(tool, field)
        if value is not None and not callable(value):
            yield Fault(field, f"{field} must be a function", "Pass a function, or omit it")
    if not callable(tool.validate):
        message = "validate must be a function from JSON bytes to arguments"
        yield Fault("validate", message, "Build the tool with `@tool` or `from_schema`")
    if not callable(tool.function):
        yield Fault("function", "function must be callable", "Build the tool with `@tool`")
        return
    streams = _is(inspect.isasyncgenfunction, tool.function)
    if isinstance(tool.is_streaming, bool) and streams != tool.is_streaming:
        yield Fault(
            "is_streaming",
            "is_streaming requires an async generator, and an async generator "
            "requires is_streaming",
            "Omit is_streaming; `@tool` sets it",
        )
    if not streams and not _is(inspect.iscoroutinefunction, tool.function):
        yield Fault("function", "function must be async", "Write `async def`")


def _signature(tool: Tool) -> Faults:
    """Check that the function takes arguments and context, with matching annotations."""
    try:
        signature = inspect.signature(tool.function, eval_str=True)
    except (NameError, AttributeError, SyntaxError) as error:
        message = f"an annotation of the function cannot be resolved: {error}"
        yield Fault(
            "function", message, "Import the names in the annotation at the top of the file"
        )
        return
    except (TypeError, ValueError):
        return
    try:
        signature.bind(object(), object())
    except TypeError as error:
        yield Fault(
            "function",
            f"the function cannot be called with arguments and context: {error}",
            "Write `async def name(args: SomeArgs, ctx: ToolContext) -> ToolResult`",
        )
        return
    returned = signature.return_annotation
    if not tool.is_streaming and not _is_returnable(returned):
        yield Fault(
            "function",
            f"the function returns {_shown(returned)}, which is not a valid result",
            "Return a ToolResult, text, or a JSON value",
        )
    parameters = [item for item in signature.parameters.values() if item.kind in _POSITIONAL]
    context = parameters[1].annotation if len(parameters) > 1 else ToolContext
    if isinstance(context, type) and not _is_subclass(ToolContext, context):
        yield Fault(
            "function",
            f"the second parameter is a {context.__name__}, but must be a ToolContext",
            "Write `ctx: ToolContext`",
        )


def _command(tool: Tool) -> Faults:
    """Check that a tool that runs commands names their argument, for risk analysis."""
    runs = tool.shell is not None or tool.language is not None
    if runs and tool.command_argument not in tool.parameters.get("properties", {}):
        message = f"command_argument {_shown(tool.command_argument)} is not an argument of the tool"
        yield Fault("command_argument", message, "Name the argument with the command")


def _is_returnable(returned: object) -> bool:
    if not isinstance(returned, type) or returned is inspect.Signature.empty:
        return True
    return _is_subclass(returned, _RETURNED) or hasattr(returned, "model_dump")


def _is_subclass(kind: type, of: Any) -> bool:
    try:
        return issubclass(kind, of)
    except TypeError:
        return True  # `Any` or a Protocol: nothing is known


def _valid_schemas(tool: Tool) -> Faults:
    # Only installations with plugins need the library, whose import is slow.
    from app.catalog.json_schema import schema_problem

    for field in ("parameters", "return_schema"):
        schema = getattr(tool, field)
        problem = None if schema is None else schema_problem(schema)
        if problem is not None:
            message = f"{field} of {_shown(tool.name)} is not a valid JSON Schema: {problem}"
            yield Fault(field, message, "Correct the schema")


def _schemas(tool: Any) -> Faults:
    if not isinstance(tool.parameters, Mapping) or tool.parameters.get("type") != "object":
        message = f"parameters of {_shown(tool.name)} must be a schema of type 'object'"
        yield Fault("parameters", message, "Describe the arguments as an object")
        return
    if tool.return_schema is not None and not isinstance(tool.return_schema, Mapping):
        yield Fault("return_schema", "return_schema must be a JSON Schema object", "Pass a dict")
        return
    for field in ("parameters", "return_schema"):
        where = not_json(getattr(tool, field))
        if where is not None:
            message = f"{field}{where} is not plain JSON"
            yield Fault(
                field, message, "Use objects with text keys, lists, text, numbers and booleans"
            )
    properties = tool.parameters.get("properties", {})
    if not isinstance(properties, Mapping):
        yield Fault("parameters", "properties of parameters must be an object", "Use a dict")
        return
    aliases = tool.argument_aliases
    if not isinstance(aliases, Mapping) or not _is_texts((*aliases, *aliases.values())):
        message = "argument_aliases must map aliases to argument names"
        yield Fault("argument_aliases", message, 'Write argument_aliases={"file": "path"}')


_LOOKS: tuple[Callable[[Tool], Faults], ...] = (
    _names,
    _words,
    _effects,
    _flags,
    _limits,
    _functions,
    _schemas,
)


def _encoded(tool: Tool) -> Faults:
    """Check that everything sent to clients and models can be encoded as JSON."""
    try:
        orjson.dumps([tool.manifest(), dict(tool.argument_aliases)])
    except (TypeError, ValueError, RecursionError) as error:
        message = f"the definition cannot be converted to JSON: {error}"
        yield Fault(
            "parameters", message, "Reduce nesting, and use valid characters and 64-bit numbers"
        )


def _stays_itself(value: Any) -> bool:
    """Return whether a value survives a JSON round trip, as nearly all do."""
    try:
        return bool(orjson.loads(orjson.dumps(value)) == value)
    except (TypeError, ValueError, RecursionError):
        return False


def not_json(value: Any, where: str = "") -> str | None:
    """Return the path of a value that JSON lacks, such as `.properties.a[0]`, or None."""
    if _stays_itself(value):
        return None
    waiting = [(where, value)]
    while waiting:
        path, item = waiting.pop()
        if isinstance(item, Mapping):
            if not all(isinstance(key, str) for key in item):
                return path
            waiting += [(f"{path}.{key}", inner) for key, inner in item.items()]
        elif isinstance(item, list | tuple):
            waiting += [(f"{path}[{at}]", inner) for at, inner in enumerate(item)]
        elif isinstance(item, float):
            if not math.isfinite(item):
                return path
        elif item is not None and not isinstance(item, str | int | bool):
            return path
        if len(path) > 4000:
            return path[:200]
    return None


def _is(kind: Callable[[Any], bool], function: Any) -> bool:
    # An instance with an async `__call__` is equivalent to a function.
    return kind(function) or kind(getattr(function, "__call__", None))  # noqa: B004


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_word(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value.strip()) <= _WORD_CHARS and value.isprintable()


def _is_texts(value: object) -> bool:
    return isinstance(value, tuple) and all(isinstance(item, str) and item for item in value)


def _texts(value: object) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else ()


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
