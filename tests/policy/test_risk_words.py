"""Every reason for which a command asks or is denied has a word in the reader's language."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.policy.risk.assess import assess_command
from tests.support.translations import check_translated

ROOT = Path(__file__).resolve().parents[2]
WORDS: dict[str, str] = json.loads(
    (ROOT / "web/src/i18n/risks.zh.json").read_text(encoding="utf-8")
)
LABELLED = ("risk_cases_public", "risk_families", "risk_variants")
# Where the code of a finding is the first argument; who passes one on is found from there.
FIRST = {"RuleMatch": 0, "CommandFinding": 0}
# Ids of rules, which people write.
NO_CODES = {"rule.id"}


def test_what_has_a_word_is_a_finding_and_at_a_release_every_one_has_one():
    check_translated(_codes(), WORDS)
    assert all("一" <= word[-1] <= "鿿" or word[-1].isalpha() for word in WORDS.values())


@pytest.mark.parametrize("name", LABELLED)
def test_what_is_found_in_labelled_commands_has_its_words(name: str):
    lines = (ROOT / f"tests/policy/risk/{name}.jsonl").read_text(encoding="utf-8").splitlines()
    commands = [json.loads(line)["command"] for line in lines]
    found = {found.code for text in commands for found in assess_command(text).findings}
    assert len(found) > 40
    assert found - set(_codes()) == set()


def _codes() -> Iterator[str]:
    """The codes that findings are made with in `app/policy`, as the sources tell."""
    trees = [
        ast.parse(path.read_text(encoding="utf-8")) for path in (ROOT / "app/policy").rglob("*.py")
    ]
    makers = _makers(trees)
    for tree in trees:
        for call in ast.walk(tree):
            code = _code_of(call, makers)
            if isinstance(code, ast.Constant):
                yield str(code.value)
            elif code is not None:
                reported = ast.unparse(code)
                assert reported in {"code", "hit.code", *NO_CODES}, reported


def _makers(trees: list[ast.Module]) -> dict[str, int]:
    """Functions that are given a code to make a finding with, and at which place."""
    makers = dict(FIRST)
    functions = [
        node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)
    ]
    while True:
        fresh = {
            function.name: place
            for function in functions
            if (place := _place_of_code(function)) is not None
            and function.name not in makers
            and any(_passes_on(node, makers) for node in ast.walk(function))
        }
        if not fresh:
            return makers
        makers |= fresh


def _place_of_code(function: ast.FunctionDef) -> int | None:
    names = [argument.arg for argument in function.args.args]
    return names.index("code") if "code" in names else None


def _passes_on(node: ast.AST, makers: dict[str, int]) -> bool:
    code = _code_of(node, makers)
    return isinstance(code, ast.Name) and code.id == "code"


def _code_of(node: ast.AST, makers: dict[str, int]) -> ast.expr | None:
    if not isinstance(node, ast.Call):
        return None
    place = makers.get(getattr(node.func, "id", getattr(node.func, "attr", "")))
    return None if place is None or len(node.args) <= place else node.args[place]
