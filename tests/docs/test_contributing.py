"""The pages on changing the repository, followed to the letter in a copy of it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import read
from tests.docs.steps import Step, listed_files, steps_of
from tests.support.source import ROOT, project_files

PAGES = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob("docs/contributing/*.md"))
MOST_FILES = 6
NEEDED = ("alembic", "app", "changelog.d", "docs", "examples", "scripts", "tests", "web")


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """The repository as a reader has it, with its environment."""
    for path in project_files():
        inside = path.relative_to(ROOT)
        if inside.parts[0] in NEEDED or len(inside.parts) == 1:
            (tmp_path / inside).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, tmp_path / inside)
    bring_compiled(tmp_path)
    (tmp_path / ".venv").symlink_to(sys.prefix)
    return tmp_path


def bring_compiled(desk: Path) -> None:
    """Link what Python and pytest have compiled: compiling it again takes longest.

    It stays valid, since the copies of the sources keep their times.
    """
    for package in ("app", "tests"):
        for compiled in (ROOT / package).rglob(
            f"__pycache__/*.{sys.implementation.cache_tag}*.pyc"
        ):
            target = desk / compiled.relative_to(ROOT)
            if target.parent.parent.is_dir():
                target.parent.mkdir(exist_ok=True)
                try:
                    target.hardlink_to(compiled)  # it is replaced and never written to
                except OSError:  # on another file system
                    shutil.copy2(compiled, target)


def follow(desk: Path, script: str) -> None:
    """Run lines of a terminal; each has to succeed."""
    environment = {name: text for name, text in os.environ.items() if "TOLLGATE" not in name}
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", script],
        cwd=desk,
        env={**environment, "PYTHONPATH": str(desk), "HOME": str(desk)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, f"{script}\n{done.stdout[-3000:]}{done.stderr[-3000:]}"


def state(desk: Path, files: list[str]) -> dict[str, str | None]:
    return {
        name: (desk / name).read_text(encoding="utf-8") if (desk / name).exists() else None
        for name in files
    }


@pytest.mark.parametrize("page", PAGES)
def test_each_step_of_the_page_works_and_the_table_lists_every_file(desk: Path, page: str):
    text = read(page)
    listed = listed_files(text)
    generated = ["docs/tools.md", "docs/configuration.md", "docs/protocol-messages.md"]
    generated += ["docs/errors.md", ".env.example"]
    before = state(desk, generated)
    steps = list(steps_of(text))
    assert any(not step.file for step in steps), "nothing is run"
    for step in steps:
        if step.file:
            step.change(desk)
        else:
            follow(desk, step.text)
    by_hand = {step.file for step in steps if step.file}
    made = {name for name, old in before.items() if state(desk, [name])[name] != old}
    assert {name for name, change in listed.items() if change != "generated"} == by_hand
    assert {name for name, change in listed.items() if change == "generated"} == made
    assert len(by_hand) <= MOST_FILES


def test_the_guide_counts_the_files_of_each_page():
    rows = re.findall(
        r"\(docs/contributing/([\w-]+)\.md\)[^|]*\| (\d+) \| (\d+) \|", read("CONTRIBUTING.md")
    )
    counted = {}
    for page in PAGES:
        changes = list(listed_files(read(page)).values())
        made = changes.count("generated")
        counted[Path(page).stem] = (len(changes) - made, made)
    assert {name: (int(hand), int(made)) for name, hand, made in rows} == counted


def test_every_block_of_such_a_page_belongs_to_a_step_or_is_run_as_it_is():
    for page in PAGES:
        marked = read(page).count("<!-- run by: tests/docs/test_contributing.py -->")
        assert marked == sum(not step.old for step in steps_of(read(page))), page


def test_a_step_that_does_not_fit_the_file_is_a_failure(tmp_path: Path):
    (tmp_path / "a.py").write_text("one\n    two\n", encoding="utf-8")
    Step("    three\n", "a.py", "below", "two").change(tmp_path)
    Step("zero\n", "a.py", "above", "one").change(tmp_path)
    Step("ONE", "a.py", old="one").change(tmp_path)
    assert (tmp_path / "a.py").read_text(encoding="utf-8") == "zero\nONE\n    two\n    three\n"
    for wrong in (
        Step("x", "a.py", "below", "gone"),
        Step("x", "a.py", old="gone"),
        Step("x", "a.py"),
    ):
        with pytest.raises(AssertionError, match=r"a\.py"):
            wrong.change(tmp_path)


def test_steps_are_read_with_their_blocks():
    page = (
        "Create `a.py`:\n\n```python\nA\n```\n\nIn `b.py`, below `x = 1`, add:\n\n"
        "<!-- run by: x -->\n```python\n  B\n```\n\n"
        "In `c.md`, replace `` `a` and `` with `` `a`, `b` and ``.\n\nRun the tests:\n\n"
        "```sh\ntrue\n```\n\nIn `d.py` nothing is added.\n"
    )
    assert list(steps_of(page)) == [
        Step("A\n", "a.py"),
        Step("  B\n", "b.py", "below", "x = 1"),
        Step("`a`, `b` and", "c.md", old="`a` and"),
        Step("true\n"),
    ]
