"""Finds pairs of nearly equal functions.

A function counts when its body, without the docstring, has at least 30 tokens. Literals become
their kind, and names bound by the function one placeholder; attributes, keywords and outer names
stay. Two functions are a pair if at least half of all their runs of four tokens are in both.
"""

from __future__ import annotations

import ast
import io
import keyword
import math
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from scripts.source_tree import Function, Module

TOKENS = 30
RUN = 4
ALIKE = 0.5
_LAYOUT = frozenset(
    {tokenize.NEWLINE, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
)

Runs = frozenset[tuple[str, ...]]


@dataclass(frozen=True)
class Pair:
    """Two functions, by path, line and name, and their similarity (0 to 1)."""

    first: str
    second: str
    alike: float


def duplicate_pairs(modules: Iterable[Module]) -> list[Pair]:
    """Return the pairs of nearly equal functions, most similar first."""
    found = [
        (f"{module.path}:{function.lineno} {function.name}", runs)
        for module in modules
        for function in module.functions()
        if (runs := _runs(function))
    ]
    pairs = [
        Pair(found[one][0], found[two][0], share)
        for one, two in _candidates([runs for _, runs in found])
        if (share := _share(found[one][1], found[two][1])) >= ALIKE
    ]
    return sorted(pairs, key=lambda pair: (-pair.alike, pair.first, pair.second))


def _share(one: Runs, two: Runs) -> float:
    both = len(one & two)
    return both / (len(one) + len(two) - both)


def _candidates(bodies: Sequence[Runs]) -> Iterator[tuple[int, int]]:
    """Yield each pair that may reach ALIKE: such a pair shares one of its rarest runs."""
    counted = Counter(run for runs in bodies for run in runs)
    by_run: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for number, runs in enumerate(bodies):
        rarest = sorted(runs, key=lambda run: (counted[run], run))
        met: set[int] = set()
        for run in rarest[: len(runs) - math.ceil(ALIKE * len(runs)) + 1]:
            met.update(by_run[run])
            by_run[run].append(number)
        yield from ((other, number) for other in sorted(met))


def _runs(function: Function) -> Runs:
    """Return the token runs of a function's body; empty if it is short."""
    tokens = list(_tokens(function))
    if len(tokens) < TOKENS:
        return frozenset()
    return frozenset(zip(*(tokens[at:] for at in range(RUN)), strict=False))


def _tokens(function: Function) -> Iterator[str]:
    body = function.body[ast.get_docstring(function) is not None :]
    own = _bound(function)
    text = ast.unparse(ast.Module(body=body, type_ignores=[]))
    before = ""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in _LAYOUT:
            continue
        if token.type in (tokenize.STRING, tokenize.NUMBER):
            yield tokenize.tok_name[token.type]
        elif token.string in own and before != "." and not keyword.iskeyword(token.string):
            yield "NAME"
        else:
            yield token.string
        before = token.string


def _bound(function: Function) -> set[str]:
    """Return the parameters of a function and the names that it assigns."""
    names = {
        node.id
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    return names | {node.arg for node in ast.walk(function.args) if isinstance(node, ast.arg)}
