"""Rules as rows: words of a program that match the subject of a table."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from app.policy.risk.call import Answer, CommandCall, Rule, RuleTable, ask, options
from app.policy.risk.model import RiskLevel


class Shape(NamedTuple):
    """Form of a call of a program.

    Attributes:
        verb: pattern at the start of the operands, joined by blanks.
        having: pattern found among all words, one per line.
        also: another pattern found there, before or after the first.
        unless: pattern not found among all words.
        why: effect of such a call; empty for the table's default.
        valued: valued options before the verb, besides those of `_GLOBALS`.
    """

    verb: str = ""
    having: str = ""
    also: str = ""
    unless: str = ""
    why: str = ""
    valued: str = ""


_GLOBALS = {
    name: valued
    for listed, valued in {
        "aws awscli": "-profile -region -output -query -endpoint-url -ca-bundle -color",
        "gcloud gsutil bq": "-project -account -configuration -format -impersonate-service-account",
        "az": "-subscription -output o -query",
        "kubectl oc k": "n s -namespace -context -cluster -user -kubeconfig -server -token -as",
        "helm helm3": "n -namespace -kube-context -kubeconfig",
        "docker podman nerdctl": "H c l -host -context -config -log-level",
        "gh glab": "R -repo",
        "heroku fly flyctl railway": "a r -app -remote -config",
        "vault bao consul nomad": "-address -namespace",
        "doctl hcloud ibmcloud oci openstack linode-cli": "t c -context -access-token -profile",
        "doppler infisical": "p c -project -config -env -path -token",
        "npm pnpm yarn bun": "C -prefix -registry -filter -dir -cwd",
        "pulumi terraform tofu": "C s -cwd -stack",
        "terraform tofu": "chdir",
        "etcdctl redis-cli valkey-cli": "h p a n u -endpoints -user -pass",
        "stripe": "-api-key -project-name",
        "rabbitmqctl": "n p -node -vhost",
    }.items()
    for name in listed.split()
}
"""Global options of a program, allowed before its verb, that take a word."""
_MOST_OPERANDS = 8
"""A verb ends before these."""
Rows = Mapping[str, tuple[Shape, ...]]
"""Names of programs, separated by blanks, with their rows."""


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """Return a compiled pattern of a table, compiled at first use, since most are never needed."""
    return re.compile(pattern, re.MULTILINE)


@cache
def _valued(name: str, own: str) -> str:
    return f"{_GLOBALS.get(name, '')} {own}"


_LONGEST_OPTION = 100
_LONGEST_WORD = 4_000
"""Maximum characters of a word that are matched: a pattern may take quadratic time."""


def _cut(word: str) -> str:
    return word[: _LONGEST_OPTION if word[:1] == "-" else _LONGEST_WORD]


_LINES = "\n"
"""Key under which the words of a call are cached, one per line."""


def first_fit(shapes: Sequence[Shape], call: CommandCall) -> Shape | None:
    """Return the first of `shapes` that matches `call`."""
    texts = call.texts
    for shape in shapes:
        if shape.verb:
            operands = texts.get(shape.valued)
            if operands is None:
                given = options(call.args, _valued(call.name, shape.valued))
                operands = " ".join(map(_cut, given.rest[:_MOST_OPERANDS]))
                texts[shape.valued] = operands
            if not compiled(shape.verb).match(operands):
                continue
        if not (shape.having or shape.also or shape.unless):
            return shape
        lines = texts.get(_LINES)
        if lines is None:
            lines = texts[_LINES] = "\n".join(map(_cut, call.args))
        if _has(shape, lines):
            return shape
    return None


def _has(shape: Shape, lines: str) -> bool:
    for pattern in (shape.having, shape.also):
        if pattern and not compiled(pattern).search(lines):
            return False
    return not (shape.unless and compiled(shape.unless).search(lines))


def by_name(*tables: Rows) -> dict[str, tuple[Shape, ...]]:
    """Return the rows of each program; a program may be in several."""
    found: dict[str, tuple[Shape, ...]] = {}
    for rows in tables:
        for listed, shapes in rows.items():
            for name in listed.split():
                found[name] = (*found.get(name, ()), *shapes)
    return found


def shaped(code: str, why: str, *tables: Rows, level: RiskLevel = RiskLevel.HIGH) -> RuleTable:
    """Return a rule for each program of `tables`, which asks if one of its rows matches."""
    shapes = by_name(*tables)

    def rule(call: CommandCall) -> Iterator[Answer]:
        if shape := first_fit(shapes[call.name], call):
            yield ask(code, f"{call.name} {shape.why or why}", level)

    return dict.fromkeys(shapes, rule)


def together(*tables: RuleTable) -> RuleTable:
    """Merge tables; a program in several of them gets all its rules."""
    merged: dict[str, tuple[Rule, ...]] = {}
    for rules in tables:
        for name, rule in rules.items():
            merged[name] = (*merged.get(name, ()), rule)
    return {name: _each(rules) if len(rules) > 1 else rules[0] for name, rules in merged.items()}


def _each(rules: tuple[Rule, ...]) -> Rule:
    def rule(call: CommandCall) -> Iterator[Answer]:
        for one in rules:
            yield from one(call)

    return rule
