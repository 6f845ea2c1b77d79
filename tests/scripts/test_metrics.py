"""The table of sizes and shapes, counted in a small tree."""

import json
from pathlib import Path

import pytest

from scripts import duplicates, metrics
from scripts.source_tree import imports, knots, read_modules

FILES = {
    "app/__init__.py": '"""The application."""\n',
    "app/core/__init__.py": '"""Core."""\n',
    "app/core/base.py": (
        "from typing import Any, Protocol\n"
        "class Box(Protocol):\n"
        "    def put(self, thing: Any) -> None: ...\n"
        "class Key(Protocol):\n"
        "    def turn(self) -> None: ...\n"
        "class Callback(Protocol):\n"
        "    def __call__(self) -> None: ...\n"
    ),
    "app/core/boxes.py": (
        "import app.core.base\n"
        "class Chest:  # has what a Box has\n"
        "    def put(self, thing): ...\n"
        "class Crate(Box): ...\n"
        "def careless():\n"
        "    try:\n"
        "        import app.core.round\n"
        "    except (OSError, Exception):\n"
        "        return None\n"
    ),
    "app/core/round.py": "from app.core import boxes\nclass Chest: ...\n",
    "app/main.py": (
        "from dataclasses import dataclass\n"
        "@dataclass\n"
        "class Half:\n" + "".join(f"    a{n}: int\n" for n in range(7)) + "@dataclass\n"
        "class Whole(Half):\n" + "".join(f"    b{n}: int\n" for n in range(6)) + "class Long:\n"
        f"    def __init__(self, {', '.join(f'c{n}' for n in range(13))}): ...\n"
    ),
    "tests/test_all.py": (
        "from unittest.mock import Mock\n"
        "def test_one(): Mock().put()\n"
        "async def test_two():\n"
        "    await asyncio.sleep(0)\n"
        "    await asyncio.sleep(1)\n"
    ),
}
COPY = (
    "def {name}(rows, {limit}):\n"
    "    {found} = []\n"
    "    for row in rows:\n"
    "        if row.size > {limit} and row.owner is not None:\n"
    "            {found}.append(row.name.strip().lower())\n"
    "    return sorted({found}, key=len)\n"
)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


@pytest.fixture
def code(tree: Path) -> metrics.Code:
    return metrics.Code(tree)


def test_the_json_has_every_measure_of_the_table(tree, capsys):
    assert metrics.main(["--tree", str(tree), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found.keys() == metrics.MEASURES.keys()
    assert found["sizes"] == [6, 0.0]
    assert found["broad_excepts"] == [166.7]
    assert found["mocks_and_sleeps"] == [50, 50]
    assert found["top_packages"] == [1]


def test_the_table_has_a_row_for_each_measure(tree, capsys):
    assert metrics.main(["--tree", str(tree)]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert len(rows) == len(metrics.MEASURES) + 2
    assert {row.count("|") for row in rows} == {3}


def test_a_circle_through_a_function_is_a_knot(tree):
    graph = imports(read_modules(tree, "app"))
    assert knots(graph) == [{"app.core.boxes", "app.core.round"}]


def test_inherited_fields_of_a_dataclass_count(code):
    items = metrics.long_constructors(code).items
    assert sorted(item.partition(" ")[2] for item in items) == ["Long: 13", "Whole: 13"]


def test_a_protocol_is_implemented_by_who_has_its_members_and_by_functions(code):
    measure = metrics.lonely_protocols(code)
    assert list(measure.values) == [3, 1]
    assert measure.items == ("app/core/base.py:4 Key: 0",)


def test_a_class_name_in_two_modules_is_doubled(code):
    assert metrics.doubled_names(code).items == ("Chest: app/core/boxes.py:2, app/core/round.py:2",)


def test_a_short_module_with_one_importer_is_listed_and_a_package_is_not(tree, capsys):
    assert metrics.main(["--tree", str(tree), "--list", "small_modules"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in listed] == [
        "app/core/base.py",
        "app/core/boxes.py",
        "app/core/round.py",
    ]


def test_functions_that_differ_in_their_own_names_are_a_pair(tree):
    path = tree / "app" / "copies.py"
    one = COPY.format(name="small", limit="least", found="found")
    two = COPY.format(name="large", limit="bound", found="names")
    other = COPY.format(name="other", limit="least", found="found").replace("row.", "self.")
    path.write_text(one + two + other.replace("append", "remove"), encoding="utf-8")
    pairs = duplicates.duplicate_pairs(read_modules(tree, "app"))
    assert (pairs[0].first, pairs[0].second, pairs[0].alike) == (
        "app/copies.py:1 small",
        "app/copies.py:7 large",
        1.0,
    )


def test_a_folder_without_an_application_is_refused_with_what_to_do(tmp_path, capsys):
    with pytest.raises(SystemExit, match="2"):
        metrics.main(["--tree", str(tmp_path)])
    assert "name a checkout with --tree" in capsys.readouterr().err
