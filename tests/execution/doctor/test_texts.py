"""Every finding has its words in both languages, and they name the same things."""

from __future__ import annotations

import ast
import json
import string
from collections.abc import Iterator
from itertools import combinations, product
from pathlib import Path
from typing import Literal

import pytest

from app.execution.doctor.check import Check
from app.execution.doctor.sandbox_checks import sandbox_checks
from app.execution.doctor.texts import FOUND, SUBJECTS, CheckSubject
from app.operations.sandbox.kernel_probe import Probe
from app.operations.sandbox.status import PYTHON, judge
from tests.support.translations import check_translated

ROOT = Path(__file__).resolve().parents[3]
CHINESE = json.loads((ROOT / "web/src/i18n/findings.zh.json").read_text(encoding="utf-8"))
# The English sentence is the service's own; a translation takes from it what the machine says.
_WITHIN_SENTENCE = {"sentence", "why"}


def _names(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


def _has_han(text: str) -> bool:
    return any("一" <= character <= "鿿" for character in text)


def test_every_subject_is_named_explained_and_mended_in_chinese_too():
    check_translated(SUBJECTS, CHINESE["subjects"])
    for code in CHINESE["subjects"]:
        english = SUBJECTS[code]
        chinese = CheckSubject(**CHINESE["subjects"][code])
        for field in CheckSubject._fields:
            said = getattr(english, field)
            translated = getattr(chinese, field)
            assert bool(said) == bool(translated), (code, field)
            assert _names(said) == _names(translated), (code, field)
            if field != "name" and said.strip("{}") not in _names(said):
                assert not said or _has_han(translated), (code, field)


def test_every_finding_is_said_in_chinese_too():
    check_translated(FOUND, CHINESE["found"])
    for code, chinese in CHINESE["found"].items():
        english = FOUND[code]
        if english == "{sentence}":
            assert _has_han(chinese), code
            assert _names(chinese) <= _WITHIN_SENTENCE, code
            continue
        assert _names(english) == _names(chinese), code
        translatable = any(part.strip(" ;:,") for part, *_ in string.Formatter().parse(english))
        assert code == "landlock.version" or not translatable or _has_han(chinese), code


@pytest.mark.parametrize("weaker", ["refuse", "ask"])
@pytest.mark.parametrize("uid", [None, 1000])
def test_whatever_the_sandbox_may_be_worth_has_its_words(
    weaker: Literal["refuse", "ask"], uid: int | None
):
    every = ("seccomp", "landlock-fs", "landlock-scope", "metadata-guard", "namespaces")
    seen: set[str] = set()
    for count in range(len(every) + 1):
        for layers in combinations((*every, "uid-drop"), count):
            probe = Probe(frozenset({*layers, "no_new_privs"}), {PYTHON: "no python"})
            status = judge(probe, weaker=weaker, uid=uid, root=True)
            seen |= {found.code for found in status.levels.values()}
            assert all(check.found for check in sandbox_checks(status))
    assert {"confined", "pure", "filter_only", "no_filter"} <= seen
    assert {f"sandbox.{code}" for code in seen} <= set(FOUND)
    failed = judge(Probe(frozenset(), failed="it is no Linux")).levels["bash"]
    assert (failed.code, failed.why) == ("failed", "it is no Linux")


def test_every_code_is_used_and_no_other_one():
    subjects, found = _used()
    assert subjects == set(SUBJECTS)
    assert found == set(FOUND)


def test_words_that_are_not_in_the_tables_or_lack_a_value_are_refused():
    with pytest.raises(KeyError):
        Check("no_such_subject", "ok", "none")
    with pytest.raises(KeyError):
        Check("python", "ok", "version")
    check = Check("python", "broken", "version", version="2.7")
    assert (check.found, check.fix) == ("2.7", "install Python 3.11 or newer")
    assert Check("python", "ok", "version", version="3.14").fix == ""


def _used() -> tuple[set[str], set[str]]:
    """The codes that the checks are made with, as far as their sources tell."""
    subjects: set[str] = set()
    found: set[str] = set()
    for path in (ROOT / "app/execution/doctor").glob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        constants = _constants(tree)
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Check":
                subjects |= _codes(node.args[0], constants, SUBJECTS)
                found |= _codes(node.args[2], constants, FOUND)
    return subjects, found


def _constants(tree: ast.Module) -> dict[str, list[ast.expr]]:
    """What is assigned to each local name."""
    names: dict[str, list[ast.expr]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            names.setdefault(node.targets[0].id, []).append(node.value)
    return names


def _codes(node: ast.expr, names: dict[str, list[ast.expr]], known: object) -> set[str]:
    return set(_read(node, names, set(known)))  # type: ignore[call-overload]


def _read(node: ast.expr, names: dict[str, list[ast.expr]], known: set[str]) -> Iterator[str]:
    if isinstance(node, ast.Constant):
        yield str(node.value)
    elif isinstance(node, ast.IfExp):
        yield from _read(node.body, names, known)
        yield from _read(node.orelse, names, known)
    elif isinstance(node, ast.Name):
        for value in names[node.id]:
            if isinstance(value, ast.Constant | ast.IfExp):
                yield from _read(value, names, known)
    elif isinstance(node, ast.JoinedStr):
        yield from _joined(node, names, known)


def _joined(
    node: ast.JoinedStr, names: dict[str, list[ast.expr]], known: set[str]
) -> Iterator[str]:
    """Every known code that begins as the text does; all choices where it has some."""
    choices: list[list[str]] = []
    for part in node.values:
        inner = part.value if isinstance(part, ast.FormattedValue) else part
        choices.append(list(_read(inner, names, known)) if not isinstance(inner, ast.Name) else [])
    if all(choices):
        yield from ("".join(parts) for parts in product(*choices))
        return
    prefix = choices[0][0]
    yield from (code for code in known if code.startswith(prefix) and code != "sandbox.lacks")
