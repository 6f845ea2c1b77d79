"""Tables of shapes: their patterns, and what a call is judged by."""

from __future__ import annotations

import re

import pytest

from app.policy.risk import informational
from app.policy.risk.call import CommandCall
from app.policy.risk.rules import exposure, foreign_packages, protections, rights, secret_stores
from app.policy.risk.rules.secret_stores import prints_secret
from app.policy.risk.shapes import Shape, first_fit

_TABLES = [informational, exposure, protections, rights, secret_stores]
_SHAPES = [
    (names, shape)
    for module in _TABLES
    for rows in vars(module).values()
    if isinstance(rows, dict)
    for names, shapes in rows.items()
    if isinstance(shapes, tuple)
    for shape in shapes
    if isinstance(shape, Shape)
]


def _call(*words: str) -> CommandCall:
    return CommandCall(words[0], list(words[1:]), "/workspace", "/home/u")


def test_each_pattern_of_the_tables_compiles() -> None:
    # A pattern is compiled when it is first needed, which may be in the middle of a call.
    for _, shape in _SHAPES:
        for pattern in (shape.verb, shape.having, shape.also, shape.unless):
            re.compile(pattern, re.MULTILINE)
    for sources in vars(foreign_packages)["_SOURCES"].values():
        for source in sources:
            re.compile(source.verb)
            re.compile(source.having, re.MULTILINE)
    assert len(_SHAPES) > 500


@pytest.mark.parametrize(
    "words",
    [
        ("pass", "show", "mail/work"),
        ("vault", "kv", "get", "secret/app"),
        ("aws", "--profile", "p", "configure", "export-credentials"),
        ("kubectl", "-n", "x", "get", "secret", "db", "-o", "yaml"),
        ("docker", "exec", "web", "env"),
        ("sqlite3", "/home/u/.mozilla/firefox/p/cookies.sqlite", ".dump"),
    ],
)
def test_a_call_that_prints_a_secret_says_so(words: tuple[str, ...]) -> None:
    assert words[0] in prints_secret(_call(*words))


@pytest.mark.parametrize(
    "words",
    [
        ("pass", "ls"),
        ("vault", "status"),
        ("aws", "configure", "list"),
        ("kubectl", "get", "secrets"),
        ("docker", "exec", "web", "ls"),
        ("sqlite3", "app.db", ".dump"),
        ("unheard-of",),
    ],
)
def test_a_call_that_prints_no_secret_says_nothing(words: tuple[str, ...]) -> None:
    assert prints_secret(_call(*words)) == ""


def test_a_shape_asks_for_all_that_it_names() -> None:
    shape = Shape(r"run\b", having=r"^--all$", also=r"^-x$", unless=r"^--dry-run$")

    assert first_fit([shape], _call("p", "run", "--all", "-x")) is shape
    for words in (
        ("p", "stop", "--all", "-x"),
        ("p", "run", "-x"),
        ("p", "run", "--all"),
        ("p", "run", "--all", "-x", "--dry-run"),
    ):
        assert first_fit([shape], _call(*words)) is None
