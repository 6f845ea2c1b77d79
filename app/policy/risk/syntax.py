"""The tree of a shell script: words made of parts, commands made of words."""

from __future__ import annotations

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

    assigns: list[Assign]
    words: list[Word]
    redirects: list[Redirect]
    plain: list[str] = field(default_factory=list)


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


def assigned_names(node: Node | Script) -> set[str]:
    """Variables that running `node` may set, as far as its text tells."""
    match node:
        case Simple():
            return {a.name for a in node.assigns} | _set_by_builtin(node)
        case Function():
            return assigned_names(node.body)
        case Group():
            return assigned_names(node.body)
        case Branches():
            names = set().union(*(assigned_names(body) for body in node.bodies))
            return names | ({node.variable} if node.variable else set())
        case Pipeline():
            return set().union(*(assigned_names(item) for item in node.commands))
        case AndOr() | Script():
            return set().union(*(assigned_names(item) for item in node.items))


_SETTERS = frozenset(
    {"read", "mapfile", "readarray", "printf", "let", "getopts", "unset", "export"}
)


def _set_by_builtin(node: Simple) -> set[str]:
    texts = node.plain or [
        "".join(p.text for p in word if isinstance(p, Lit)) for word in node.words[:200]
    ]
    if not texts or texts[0] not in _SETTERS:
        return set()
    return {text.split("=", 1)[0] for text in texts[1:]}
