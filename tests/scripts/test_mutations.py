"""The faults that are put into the product: which they are, and that a test that sees one is."""

import ast
import json

import pytest
from coverage import CoverageData

from scripts import mutations as program
from scripts.mutants import chosen, mutations

MODULE = '''"""Rooms."""

from typing import Final


class Room:
    """One."""

    size: int = 3
    name: str = Field("hall", description="told")


def fits(people: int, *, most: int = 4) -> bool:
    """Whether they fit."""
    if (
        people  # a comment
        > most
    ):
        return False
    if (near := people + 1) in {most}:
        return near == most
    return True


def tidy(rooms: list[Room]) -> None:
    for room in rooms:
        if room.size is not None and len(room.name) <= 2:  # ü stays
            raise ValueError(room)
    rooms.clear()
'''
TESTS = """from app.house.rooms import fits

def test_five_do_not_fit():
    assert not fits(5)

def test_that_never_holds():
    assert fits(0, most=-1)
"""


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A product of two packages and the tests of one."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # they start faster without
    tree = tmp_path / "tree"
    for name, text in {
        "app/__init__.py": "",
        "app/house/__init__.py": "",
        "app/house/rooms.py": MODULE.replace('Field("hall", description="told")', '"hall"'),
        "app/garden/__init__.py": "",
        "app/garden/beds.py": "def beds(count: int = 2) -> int:\n    return count\n",
        "pyproject.toml": "[tool.pytest.ini_options]\naddopts = ['--import-mode=importlib']\n",
        "tests/__init__.py": "",
        "tests/helper.py": "from app.house import rooms\n",
        "tests/house/__init__.py": "",
        "tests/house/test_rooms.py": TESTS,
        "tests/far/__init__.py": "",
        "tests/far/test_far.py": "from tests.helper import rooms\n\ndef test_far():\n    pass\n",
    }.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text, encoding="utf-8")
    return tree


def test_each_kind_of_fault_changes_its_place_and_nothing_else():
    source = MODULE.encode()
    changed = [
        (one.kind, line[1:].strip())
        for one in mutations("app/house/rooms.py", source)
        for line in one.diff(source).splitlines()[2:]
        if line.startswith("+")
    ]
    assert changed == [
        ("default", "size: int = 7"),
        ("default", 'name: str = Field("", description="told")'),
        ("default", "def fits(people: int, *, most: int = 9) -> bool:"),
        ("early", "return True"),
        ("guard", "False"),
        ("flip", "if (near := people + 1) not in {most}:"),
        ("flip", "return near != most"),
        ("early", "return"),
        ("guard", "if False:  # ü stays"),
        ("flip", "if room.size is None and len(room.name) <= 2:  # ü stays"),
        ("flip", "if room.size is not None and len(room.name) > 2:  # ü stays"),
        ("early", "return"),
    ]


def test_every_fault_leaves_a_module_that_compiles():
    source = MODULE.encode()
    for one in mutations("app/house/rooms.py", source):
        ast.parse(one.applied(source))


def test_one_seed_chooses_the_same_faults_and_spreads_them_over_the_packages(tree):
    first = chosen(tree, count=2, seed=7)
    assert first == chosen(tree, count=2, seed=7)
    assert {one.package for one in first} == {"app/house", "app/garden"}
    assert len(chosen(tree, count=1000, seed=7)) == len(set(chosen(tree, count=1000, seed=8)))
    assert chosen(tree, count=9, seed=7) != chosen(tree, count=9, seed=8)


def test_the_tests_of_the_folder_are_near_and_those_by_way_of_a_helper_are_wide(tree):
    (fault, *_) = mutations("app/house/rooms.py", (tree / "app/house/rooms.py").read_bytes())
    imports = program.Imports(tree)
    assert imports.near(fault) == ["tests/house/test_rooms.py"]
    assert imports.wide(fault) == ["tests/far/test_far.py", "tests/house/test_rooms.py"]


def test_a_fault_that_a_test_sees_is_caught_and_one_that_none_sees_survives(tree, tmp_path):
    file = "app/house/rooms.py"
    found = mutations(file, (tree / file).read_bytes())
    seen = next(one for one in found if one.kind == "early" and "True" in one.text)
    unseen = next(one for one in found if one.kind == "default")
    folder = tmp_path / "trial"
    folder.mkdir()
    trial = program.Trial(tree, folder)
    verdicts = [trial.judge(one) for one in (unseen, seen)]
    assert [(one.verdict, one.by.partition("::")[2]) for one in verdicts] == [
        ("survived", ""),
        ("caught", "test_five_do_not_fit"),
    ]
    assert (trial.tree / file).read_bytes() == (tree / file).read_bytes()


def test_tests_in_which_nothing_ends_any_more_are_a_hang(tree, tmp_path):
    (tree / "app/garden/beds.py").write_text(
        "def beds(count: int = 0) -> int:\n    while count:\n        pass\n    return count\n"
    )
    (tree / "tests/garden").mkdir()
    (tree / "tests/garden/test_beds.py").write_text(
        "from app.garden.beds import beds\n\ndef test_no_beds():\n    assert beds() == 0\n"
    )
    file = "app/garden/beds.py"
    fault = next(one for one in mutations(file, (tree / file).read_bytes()) if one.kind != "early")
    folder = tmp_path / "trial"
    folder.mkdir()
    trial = program.Trial(tree, folder, silence=5)
    assert trial.judge(fault).verdict == "hang"


def test_the_list_names_the_faults_and_the_results_name_the_line_and_the_difference(
    tree, tmp_path, capsys
):
    assert program.main(["--tree", str(tree), "--count", "2", "--list"]) == 0
    assert capsys.readouterr().out.count("--- app/") == 2
    kept = tmp_path / "results.json"
    code = program.main(["--tree", str(tree), "--count", "1", "--json", str(kept)])
    (entry,) = json.loads(kept.read_bytes())["mutations"]
    assert code == (entry["verdict"] == "survived")
    assert entry["diff"].startswith(f"--- {entry['file']}")
    assert f"{entry['file']}:{entry['line']}" in capsys.readouterr().out


def test_coverage_names_the_tests_that_execute_the_function_around_a_fault(tree, tmp_path):
    file = "app/house/rooms.py"
    source = (tree / file).read_bytes()
    fits, tidy = (
        next(one for one in mutations(file, source) if one.kind == "early" and text in one.text)
        for text in ("True", "return\n")
    )
    data = CoverageData(str(tmp_path / "data"))
    for name, line in (("house/test_rooms", fits.line + 1), ("far/test_far", tidy.line + 1)):
        data.set_context(f"tests/{name}.py::test_it|run")
        data.add_lines({str(tree / file): [line]})
    data.write()
    executed = program.Executed(tmp_path / "data")
    assert executed.files(fits, source) == ["tests/house/test_rooms.py"]
    assert executed.files(tidy, source) == ["tests/far/test_far.py"]
    beds = (tree / "app/garden/beds.py").read_bytes()
    assert executed.files(mutations("app/garden/beds.py", beds)[0], beds) == []


def test_a_fault_that_only_a_test_without_an_import_executes_is_caught(tree, tmp_path):
    (tree / "tests/far/test_far.py").write_text(
        "import importlib\n\n"
        "def test_far():\n"
        "    assert not importlib.import_module('app.house.' + 'rooms').fits(5)\n"
    )
    (tree / "tests/house/test_rooms.py").unlink()
    file = "app/house/rooms.py"
    source = (tree / file).read_bytes()
    fault = next(one for one in mutations(file, source) if one.kind == "guard")
    data = CoverageData(str(tmp_path / "data"))
    data.set_context("tests/far/test_far.py::test_far|run")
    data.add_lines({str(tree / file): [fault.line]})
    data.write()
    verdicts = []
    for name, executed in (("by imports", None), ("by lines", program.Executed(tmp_path / "data"))):
        (tmp_path / name).mkdir()
        verdicts.append(program.Trial(tree, tmp_path / name, executed=executed).judge(fault))
    assert [one.verdict for one in verdicts] == ["survived", "caught"]
