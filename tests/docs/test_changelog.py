"""The fragments of the changelog: names that the release knows, and texts for users."""

import re
import subprocess
import tomllib

import pytest

from tests.docs.pages import first_cells, read
from tests.support.binaries import require_binary
from tests.support.source import ROOT, project_files

CONFIGURED = tomllib.loads(read("pyproject.toml"))["tool"]["towncrier"]
KINDS = [kind["directory"] for kind in CONFIGURED["type"]]
NAME = re.compile(rf"(?:\+[a-z0-9-]+|\d+)\.(?:{'|'.join(KINDS)})(?:\.\d+)?\.md")
SENTENCE = re.compile(r"[A-Z`0-9][^\n]{9,199}[.`]")
FRAGMENTS = [
    path
    for path in project_files()
    if path.parent == ROOT / "changelog.d" and path.name != "README.md"
]


def problems(name: str, text: str) -> list[str]:
    """What is wrong with a fragment."""
    found = []
    if not NAME.fullmatch(name):
        found.append("the name is +SLUG.KIND.md or ISSUE.KIND.md")
    lines = text.removesuffix("\n").split("\n")
    if len(lines) > 2:
        found.append("at most two lines")
    if not all(SENTENCE.fullmatch(line) for line in lines):
        found.append("each line is a sentence of 10 to 200 characters that ends with a period")
    return found


def test_every_fragment_is_one_that_a_release_can_collect():
    wrong = {p.name: problems(p.name, p.read_text(encoding="utf-8")) for p in FRAGMENTS}
    assert {name: why for name, why in wrong.items() if why} == {}


@pytest.mark.parametrize(
    ("name", "text", "count"),
    [
        ("+search.added.md", "`tollgate search` finds text in all sessions.\n", 0),
        ("12.fixed.md", "A lost connection comes back.\nIts events are sent again.\n", 0),
        ("12.fixed.2.md", "A second one.", 0),
        ("search.added.md", "`tollgate search` finds text.\n", 1),
        ("+search.new.md", "`tollgate search` finds text.\n", 1),
        ("+search.added.txt", "`tollgate search` finds text.\n", 1),
        ("+search.added.md", "", 1),
        ("+search.added.md", "- a list\n", 1),
        ("+search.added.md", "One line here.\nTwo lines here.\nThree lines here.\n", 1),
        ("+search.added.md", "No period at the end\n", 1),
    ],
)
def test_what_is_wrong_with_a_fragment_is_found(name: str, text: str, count: int):
    assert len(problems(name, text)) == count


def test_the_page_lists_the_kinds_that_the_release_collects():
    assert first_cells(read("changelog.d/README.md")) == KINDS
    assert "changelog.d/README.md" in read("CONTRIBUTING.md")


def test_the_changelog_has_the_mark_that_a_release_writes_behind():
    assert read("CHANGELOG.md").count("<!-- towncrier release notes start -->") == 1


def test_a_release_writes_fragments_into_the_changelog(tmp_path):
    towncrier = require_binary("towncrier")
    for name in ("pyproject.toml", "CHANGELOG.md"):
        (tmp_path / name).write_text(read(name), encoding="utf-8")
    folder = tmp_path / "changelog.d"
    folder.mkdir()
    (folder / "README.md").write_text(read("changelog.d/README.md"), encoding="utf-8")
    (folder / "+search.added.md").write_text("`tollgate search` finds text.\n", encoding="utf-8")
    words = [str(towncrier), "build", "--yes", "--version", "9.8.7"]
    subprocess.run(words, cwd=tmp_path, capture_output=True, check=True)
    text = (tmp_path / "CHANGELOG.md").read_text(encoding="utf-8")
    assert "\n### Added\n\n- `tollgate search` finds text.\n" in text
    assert text.index("\n## [9.8.7] - ") < text.index("\n## [0.1.0]")
    assert not (folder / "+search.added.md").exists()
