"""Syntax tree of a shell script: words made of parts, commands made of words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


class Unreadable(Exception):
    """The text is not a parsable script; contains the reason. Used only in this package."""


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
    arg: Sequence[Part] = ()
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
    subscript: Sequence[Part] = ()


@dataclass(slots=True)
class Redirect:
    """`target` is the file word, or the text for `<<` and `<<<`.

    `descriptor` is the text before the operator: a number or `{name}`.
    """

    op: str
    target: Word
    descriptor: str = ""


@dataclass(slots=True)
class Runs:
    """Commands that may run. `sets` caches the variables they may set."""

    sets: frozenset[str] | None = field(default=None, init=False, repr=False, compare=False)


@dataclass(slots=True)
class Simple(Runs):
    """`plain` contains the words instead if nothing in them is expanded or quoted.

    `named` caches the variables that it expands.
    """

    assigns: Sequence[Assign]
    words: Sequence[Word]
    redirects: Sequence[Redirect]
    plain: Sequence[str] = ()
    named: frozenset[str] | None = field(default=None, init=False, repr=False, compare=False)


@dataclass(slots=True)
class Pipeline(Runs):
    commands: list[Node]


@dataclass(slots=True)
class AndOr(Runs):
    """`a && b || c`: only the first is certain to run. `otherwise`: positions of those after
    `||`.
    """

    items: list[Node]
    otherwise: frozenset[int] = frozenset()


@dataclass(slots=True)
class Group(Runs):
    """`{ …; }`, or `( … )` if `subshell`."""

    body: Script
    redirects: list[Redirect]
    subshell: bool


@dataclass(slots=True)
class Branches(Runs):
    """if, case, while, until, for, select, [[ ]], (( )): words that are read, then bodies that may
    run.

    `tests`: of `if` and `while`, every other body is a condition of the next. `falls`: bodies of a
    `case` with a fall-through.
    """

    words: list[Word]
    bodies: list[Script]
    redirects: list[Redirect]
    loop: bool = False
    variable: str | None = None
    arithmetic: bool = False
    tests: bool = False
    falls: frozenset[int] = frozenset()

    def is_test(self, at: int) -> bool:
        return self.tests and at % 2 == 0 and at + 1 < len(self.bodies)


@dataclass(slots=True)
class Function(Runs):
    name: str
    body: Node
    reads_arguments: bool


Node = Simple | Pipeline | AndOr | Group | Branches | Function


@dataclass(slots=True)
class Script(Runs):
    items: list[Node]


def in_background(node: Node) -> Group:
    """Return `node &` as a group: its changes are lost with its separate process."""
    return Group(Script([node]), [], subshell=True)


def assigned_names(*nodes: Node | Script) -> frozenset[str]:
    """Return the variables that running `nodes` may set, as far as known."""
    if len(nodes) != 1:
        return _NO_NAMES.union(*[assigned_names(node) for node in nodes])
    node = nodes[0]
    if node.sets is None:
        node.sets = _set_by(node)
    return node.sets


def _set_by(node: Node | Script) -> frozenset[str]:
    match node:
        case Simple():
            # Most commands set nothing, as their first word shows.
            if node.plain and node.plain[0] not in _TELLING:
                return _NO_NAMES
            return _set_by_builtin(node).union([assign.name for assign in node.assigns])
        case Function(body=body) | Group(body=body):
            return assigned_names(body)
        case Branches(bodies=bodies, variable=variable):
            return assigned_names(*bodies).union([variable] if variable else ())
        case Pipeline(commands=items) | AndOr(items=items) | Script(items=items):
            return assigned_names(*items)


_NO_NAMES: frozenset[str] = frozenset()
EVERY_NAME = "*"
"""Placeholder for all variables, if unparsed text sets some."""
ARGUMENTS = "@"
"""Name of the arguments of a script or function."""
_NAMES_ARE_SET = frozenset(
    {"export", "declare", "typeset", "local", "readonly", "read", "mapfile", "readarray"}
    | {"getopts", "unset"}
)
_SETS_ARGUMENTS = frozenset({"set", "shift"})
_SETTERS = _NAMES_ARE_SET | _SETS_ARGUMENTS | {"printf", "let", "wait"}
_BEFORE = frozenset({"builtin", "command", "--", "-p"})
_READERS = frozenset({"eval", "source", "."})
_TELLING = _SETTERS | _BEFORE | _READERS


def _set_by_builtin(node: Simple) -> frozenset[str]:
    if not node.plain and (not node.words or literal(node.words[0]) not in _TELLING):
        return _NO_NAMES
    texts = node.plain or [literal(word) for word in node.words]
    while texts and texts[0] in _BEFORE:
        texts = texts[1:]
    if texts and texts[0] in _READERS:
        return frozenset([EVERY_NAME])
    if not texts or texts[0] not in _SETTERS:
        return _NO_NAMES
    if texts[0] in _SETS_ARGUMENTS:
        return frozenset([ARGUMENTS])
    names = [text.split("=", 1)[0] for text in texts[1:]]
    sets = texts[0] in _NAMES_ARE_SET or "-v" in names or "-p" in names
    if sets and any(map(_is_named_later, node.words)):
        return frozenset([EVERY_NAME])
    return frozenset(names)


def _is_named_later(word: Word) -> bool:
    """Return whether the name before the `=` is only known after expansion of `word`."""
    for part in word:
        if type(part) is not Lit:
            return True
        if "=" in part.text:
            return False
    return False


def literal(word: Word) -> str:
    """Return the literal text of `word`, without expanded parts."""
    if len(word) == 1:
        part = word[0]
        return part.text if type(part) is Lit else ""
    return "".join([part.text for part in word if type(part) is Lit])


def self_calls(node: Node | Script, name: str, *, piped: bool) -> int:
    """Return how often `node` runs the command `name`; `piped`: the maximum in one pipeline."""
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
