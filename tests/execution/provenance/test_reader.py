"""Which of the files that a command runs are read, and how far."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.execution.provenance import reader
from app.execution.provenance.reader import Known, look
from app.policy.risk.model import FileRun, Given


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "work"
    root.mkdir()
    return root


def put(root: Path, **files: str | bytes) -> None:
    """Files by their names; `__` stands for a slash, and those that begin with `s_` end so."""
    for name, text in files.items():
        path = root / name.replace("__", "/").replace("_py", ".py").replace("_js", ".js")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())


def found(
    root: Path, path: str, kind: str, *, written: set[str] | None = None, how: Known = "named"
) -> dict[str, Given]:
    """What is handed in, by its path in the workspace; `written` None: all that is there."""

    def how_known(real: str, _: float) -> Known | None:
        name = real.removeprefix(f"{root}/")
        return how if written is None or name in written else None

    given = look(str(root), [FileRun(f"{root}/{path}", kind)], how_known)
    return {one.path.removeprefix(f"{root}/"): one for one in given}


def test_modules_are_followed_through_files_that_nobody_wrote(root: Path):
    put(root, main_py="import a.b\n", a____init___py="", a__b_py="from . import c\n", a__c_py="1\n")
    put(root, other_py="1\n")

    assert set(found(root, "main.py", "python", written={"a/c.py", "other.py"})) == {"a/c.py"}


def test_a_module_that_hides_one_of_the_standard_library_counts(root: Path):
    put(root, main_py="print(1)\n", json_py="1\n", plain_py="1\n")

    assert set(found(root, "main.py", "python", written={"json.py", "plain.py"})) == {"json.py"}


def test_modules_of_node_are_followed(root: Path):
    put(root, main_js="const a = require('./a'); import b from './b.js'\n", a_js="1", b_js="2")

    assert set(found(root, "main.js", "node")) == {"main.js", "a.js", "b.js"}


def test_makefiles_are_followed_to_what_they_include(root: Path):
    put(root, Makefile="include own.mk\n-include $(X)\n", own__mk="", other__mk="")
    (root / "own.mk").write_text("all:\n", encoding="utf-8")

    assert set(found(root, "Makefile", "makefile")) == {"Makefile", "own.mk"}


def test_tests_are_found_below_a_folder_with_what_configures_them(root: Path):
    put(root, conftest_py="1", tests__test_a_py="import lib\n", tests__conftest_py="1", lib_py="1")
    put(root, tests__data_py="1", node_modules__test_x_py="1")

    assert set(found(root, "tests", "tests")) == {
        *("conftest.py", "tests/test_a.py", "tests/conftest.py", "lib.py")
    }
    assert set(found(root, "tests/test_a.py", "tests")) == {
        *("conftest.py", "tests/test_a.py", "tests/conftest.py", "lib.py")
    }


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"\x7fELF\0\0", "is not text"),
        (b"caf\xe9", "is not text"),
        (b"a" * (reader.MAX_TEXT + 1), "is too long to be analyzed"),
        (b"a" * (reader.MAX_HASHED + 1), "is too long to be analyzed"),
    ],
)
def test_what_cannot_be_judged_says_why(root: Path, content: bytes, why: str):
    put(root, tool=content)
    one = found(root, "tool", "program")["tool"]
    put(root, tool=content + b"a")

    assert (one.text, one.why) == (None, why)
    assert found(root, "tool", "program")["tool"].digest != one.digest


def test_what_a_compiler_or_a_package_manager_makes_runs_as_ever(root: Path):
    put(root, tool=b"\x7fELF\0\0", node_modules__x__cli_js="1")

    assert found(root, "tool", "program", how="timed") == {}
    assert found(root, "node_modules/x/cli.js", "node", how="timed") == {}
    assert found(root, "node_modules/x/cli.js", "node") != {}


def test_a_link_stands_for_what_it_leads_to(root: Path, tmp_path: Path):
    put(root, run="true\n")
    put(tmp_path, outside="true\n")
    (root / "link").symlink_to("run")
    (root / "out").symlink_to(tmp_path / "outside")
    (root / "circle").symlink_to("circle")

    assert found(root, "link", "shell", written={"run"})["link"].text == "true\n"
    assert found(root, "out", "shell") == found(root, "circle", "shell") == {}
    assert found(root, "../outside", "shell") == {}


def test_patterns_stand_for_the_files_of_one_folder(root: Path):
    put(root, a__x="1", a__y="2", b__x="3")

    assert set(found(root, "a/*", "shell")) == {"a/x", "a/y"}
    assert found(root, "*/x", "shell") == {}


def test_no_more_is_handed_in_than_can_be_judged(root: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(reader, "MAX_ALL_TEXT", 5)
    put(root, a__x="1234", a__y="5678")
    given = found(root, "a/*", "shell")

    assert sorted(one.text or one.why for one in given.values()) == [
        *("1234", "is one of too many files to analyze")
    ]


def test_a_named_file_is_not_left_out_in_silence(root: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(reader, "MAX_GIVEN", 1)
    put(root, a="1", b="2")
    runs = [FileRun(f"{root}/{name}", "shell") for name in "ab"]
    given = look(str(root), runs, lambda *_: "named")

    assert [one.text for one in given] == ["1", None]


def test_special_files_are_left_alone(root: Path):
    import os

    os.mkfifo(root / "pipe")

    assert found(root, "pipe", "shell") == {}
