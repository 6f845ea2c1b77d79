"""Variables in a command, and the command for their possible values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from app.policy.risk.call import UNKNOWN
from app.policy.risk.expand import Expander
from app.policy.risk.scope import ShellScope
from app.policy.risk.syntax import Arith, Lit, Part, Proc, Script, Simple, Var


class Possible(NamedTuple):
    """Possible form of a command: `targets` are the files that its redirections write."""

    argv: list[str]
    targets: list[str]
    values: dict[str, str]
    scope: ShellScope


class _Nothing:
    """Runner that does nothing, because the words have already been run."""

    def substitute(self, body: Script, scope: ShellScope) -> str:
        return UNKNOWN

    def process(self, part: Proc, scope: ShellScope) -> str:
        return UNKNOWN

    def arithmetic(self, parts: Sequence[Part], scope: ShellScope) -> None:
        return None


_NOTHING = _Nothing()


def names_in(parts: Sequence[Part]) -> Iterator[str]:
    for part in parts:
        if isinstance(part, Var):
            yield part.name
            yield from names_in(part.arg)
        elif isinstance(part, Arith):
            yield from names_in(part.parts)


def _named(node: Simple) -> frozenset[str]:
    words = [*node.words, *(assign.value for assign in node.assigns)]
    words += [redirect.target for redirect in node.redirects if redirect.op not in {"<<", "<<-"}]
    named = [word for word in words if len(word) != 1 or type(word[0]) is not Lit]
    return frozenset([name for word in named for name in names_in(word)])


def possible(node: Simple, scope: ShellScope) -> Iterator[Possible]:
    """Yield `node` with possible values of its variables, if none is certain."""
    if node.named is None:
        node.named = _named(node)
    for inner in scope.guesses(node.named) if node.named else ():
        expander = Expander(inner, _NOTHING)
        argv = [field for word in node.words for field in expander.fields(word)]
        targets = _targets(node, expander) if node.redirects else []
        values: dict[str, str] = {}
        for assign in node.assigns:
            if assign.array is None:
                values[assign.name] = expander.text(assign.value)
        yield Possible(argv, targets, values, inner)


def written_by(node: Simple, scope: ShellScope) -> list[str]:
    """Return the files that the redirections of `node` write, as named."""
    return _targets(node, Expander(scope, _NOTHING))


def _targets(node: Simple, expander: Expander) -> list[str]:
    return [expander.text(redirect.target) for redirect in node.redirects if ">" in redirect.op]
