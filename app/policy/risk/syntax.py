"""The tree of a shell script: words made of parts, commands made of words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


class Unreadable(Exception):
    """The text is not a script that we read; carries the reason. Never leaves this package."""


@dataclass(slots=True)
class Lit:
    """Literal text; `quoted` text is not split, globbed, brace- or tilde-expanded."""

    text: str
    quoted: bool = False


@dataclass(slots=True)
class Var:
    """`$name` or `${name op arg}`; `op` is empty for the plain form."""

    name: str
    op: str = ""
    arg: list[Part] = field(default_factory=list)
    quoted: bool = False


@dataclass(slots=True)
class Cmd:
    """`$(…)` or backticks."""

    script: Script
    quoted: bool = False


@dataclass(slots=True)
class Proc:
    """`<(…)` or `>(…)`."""

    script: Script
    reads: bool


@dataclass(slots=True)
class Arith:
    """`$((…))` or `$[…]`; the parts are visited for what they run."""

    parts: list[Part]


Part = Lit | Var | Cmd | Proc | Arith
Word = list[Part]


@dataclass(slots=True)
class Assign:
    name: str
    value: Word
    append: bool = False
    array: list[Word] | None = None
    subscript: Word = field(default_factory=list)


@dataclass(slots=True)
class Redirect:
    """`target` is the file word, or the text for `<<` and `<<<`."""

    op: str
    target: Word


@dataclass(slots=True)
class Simple:
    """`plain` holds the words instead when nothing in them is expanded or quoted."""

    assigns: Sequence[Assign]
    words: Sequence[Word]
    redirects: Sequence[Redirect]
    plain: Sequence[str] = ()


@dataclass(slots=True)
class Pipeline:
    commands: list[Node]


@dataclass(slots=True)
class AndOr:
    """`a && b || c`: only the first is certain to run."""

    items: list[Node]


@dataclass(slots=True)
class Group:
    """`{ …; }`, or `( … )` when `subshell`."""

    body: Script
    redirects: list[Redirect]
    subshell: bool


@dataclass(slots=True)
class Branches:
    """if, case, while, until, for, select, [[ ]], (( )): words read, then bodies that may run."""

    words: list[Word]
    bodies: list[Script]
    redirects: list[Redirect]
    loop: bool = False
    variable: str | None = None
    arithmetic: bool = False


@dataclass(slots=True)
class Function:
    name: str
    body: Node


Node = Simple | Pipeline | AndOr | Group | Branches | Function


@dataclass(slots=True)
class Script:
    items: list[Node]


def assigned_names(*nodes: Node | Script) -> set[str]:
    """Variables that running `nodes` may set, as far as their text tells."""
    names: set[str] = set()
    left = list(nodes)
    while left:
        match left.pop():
            case Simple() as node:
                names.update([assign.name for assign in node.assigns])
                # Most commands set nothing, which their first word tells.
                if not node.plain or node.plain[0] in _TELLING:
                    names |= _set_by_builtin(node)
            case Function(body=body) | Group(body=body):
                left.append(body)
            case Branches() as node:
                left += node.bodies
                if node.variable:
                    names.add(node.variable)
            case Pipeline(commands=items) | AndOr(items=items) | Script(items=items):
                left += items
    return names


EVERY_NAME = "*"
"""Stands for all variables, where text sets them that is not read here."""
_SETTERS = frozenset(
    {"read", "mapfile", "readarray", "printf", "let", "getopts", "unset", "export", "wait"}
)
_BEFORE = frozenset({"builtin", "command", "--", "-p"})
_READERS = frozenset({"eval", "source", "."})
_TELLING = _SETTERS | _BEFORE | _READERS


def _set_by_builtin(node: Simple) -> set[str]:
    texts = node.plain or [
        "".join(p.text for p in word if isinstance(p, Lit)) for word in node.words
    ]
    while texts and texts[0] in _BEFORE:
        texts = texts[1:]
    if texts and texts[0] in _READERS:
        return {EVERY_NAME}
    if not texts or texts[0] not in _SETTERS:
        return set()
    return {text.split("=", 1)[0] for text in texts[1:]}


def self_calls(node: Node | Script, name: str, *, piped: bool) -> int:
    """How often `node` runs the command `name`; `piped`: most often in one pipeline."""
    match node:
        case Simple():
            first = node.words[0] if node.words else []
            word = node.plain[:1] or [part.text for part in first if isinstance(part, Lit)]
            return int(not piped and word == [name])
        case Pipeline():
            return max(sum(self_calls(item, name, piped=False) for item in node.commands), 0)
        case AndOr() | Script():
            return sum(self_calls(item, name, piped=piped) for item in node.items)
        case Group():
            return self_calls(node.body, name, piped=piped)
        case Branches():
            return sum(self_calls(body, name, piped=piped) for body in node.bodies)
        case Function():
            return 0
