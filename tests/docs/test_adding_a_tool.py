"""The page on adding a tool, followed to the letter."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from tests.docs.pages import read
from tests.support.source import ROOT

PAGE = "docs/adding-a-tool.md"


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """The repository as a reader has it, with an empty data folder."""
    for name in ("app", "examples", "pyproject.toml", "tests", "alembic"):
        (tmp_path / name).symlink_to(ROOT / name)
    for name in ("README.md", "LICENSE"):
        shutil.copyfile(ROOT / name, tmp_path / name)
    (tmp_path / ".venv").symlink_to(sys.prefix)
    return tmp_path


def follow(desk: Path, block: str) -> str:
    environment = {name: value for name, value in os.environ.items() if "TOLLGATE" not in name}
    done = subprocess.run(
        ["sh", "-eu", "-c", block],
        cwd=desk,
        env={**environment, "PYTHONPATH": str(desk)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_each_command_of_the_page_does_what_it_says(desk: Path):
    blocks = re.findall(r"^```sh\n(.*?)^```$", read(PAGE), re.MULTILINE | re.DOTALL)
    put_in, tried, pip, tested = blocks
    listed = follow(desk, put_in)
    assert re.search(r"^word_count +on +READ +plugin", listed, re.MULTILINE)
    assert re.search(r"^tally +on +READ +plugin", listed, re.MULTILINE)
    assert "not loaded" not in listed
    called = follow(desk, tried)
    assert '"lines"' in called
    assert re.search(r"README.md: [0-9]+", called)
    assert "pip" in follow(desk, pip)
    assert re.search(r"3 passed", follow(desk, tested))


def test_every_import_that_the_page_names_is_there():
    named = re.findall(r"`from ([\w.]+) import ([\w, ]+)`", read(PAGE))
    assert len(named) >= 8
    for module, names in named:
        if module.startswith("app."):
            for name in names.split(", "):
                assert hasattr(import_module(module), name), (module, name)


def test_every_option_of_the_decorator_that_the_page_names_is_one():
    from app.toolkit.tool import Tool

    table = read(PAGE).split("| option | meaning |")[1].split("\n\n")[0]
    cells = [row.split("|")[1] for row in table.splitlines() if row.startswith("| `")]
    named = {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}
    fields = set(Tool.__dataclass_fields__) | {"permission", "side_effect"}
    assert named
    assert named <= fields
