"""Names are the standard terms of the field; see decision 0033."""

import ast
import re
from collections import defaultdict
from pathlib import PurePosixPath

from tests.support.source import modules, sources

FOLDERS = ("app", "benchmarks", "scripts", "tests", "web")
BANNED = {"anew", "book", "books", "keeper", "keepers", "surroundings", "told"}
# Nouns and adjectives, although they end as a gerund does; `adding` is in the name of a page.
NOUNS = {
    *("adding", "blocking", "contributing", "endings", "escaping", "findings", "listings"),
    *("mapping", "meanings", "pending", "ranking", "reasoning", "routing", "setting", "settings"),
    *("sightings", "strings", "warning", "wiring"),
}
# A column, and a tool's older name for its own text: data that is stored or sent.
STORED = {
    "app/db/question_tables.py": {"told"},
    "app/api/rest/admin/tickets.py": {"not_told", "told_in_run"},
}
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def test_no_class_name_is_used_twice():
    places = defaultdict(list)
    for path, text in sources("app"):
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(f"{path}:{node.lineno}")
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_no_file_is_named_by_a_gerund():
    named = [
        path
        for path, _ in sources(*FOLDERS)
        if any(
            re.fullmatch(r"[a-z]{2,}ings?", word) and word not in NOUNS
            for word in PurePosixPath(path).stem.removeprefix("test_").split("_")
        )
    ]
    assert named == [], f"name files with nouns, or list a noun in NOUNS: {named}"


def test_no_name_holds_a_word_of_our_own():
    found = {
        f"{path}:{getattr(node, 'lineno', 0)} {name}"
        for path, _, tree in modules(*FOLDERS, holding="(?i)" + "|".join(sorted(BANNED)))
        for node in ast.walk(tree)
        for name in _names(node)
        if BANNED & {word.lower() for word in WORD.findall(name)}
        and name not in STORED.get(path, set())
    }
    assert found == set()


def _names(node: ast.AST) -> list[str]:
    """The names that a node gives to something."""
    if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return [node.name]
    if isinstance(node, ast.arg):
        return [node.arg]
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        return [node.id]
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
        return [node.attr]
    return []
