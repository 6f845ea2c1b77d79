"""A search for skills opens nothing while nothing has changed, and sees every change."""

from pathlib import Path

import pytest

from app.knowledge.skills import finder as module
from app.knowledge.skills.finder import Finder
from app.knowledge.skills.locations import SkillLocation

DOCUMENT = "---\nname: {name}\ndescription: {text}\n---\nDo it.\n"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SkillLocation:
    # The times of the files are as recent as they can be.
    monkeypatch.setattr(module, "_TICK_NS", -(10**15))
    make(tmp_path / "one", "first")
    return SkillLocation("user", tmp_path, ".", "user:", "here")


def make(folder: Path, text: str) -> None:
    (folder / "inner").mkdir(parents=True)
    (folder / "SKILL.md").write_text(DOCUMENT.format(name=folder.name, text=text))


def described(finder: Finder, place: SkillLocation) -> dict[str, str]:
    return {skill.name: skill.document.description for skill in finder.find([place])}


def digests(finder: Finder, place: SkillLocation) -> list[str | None]:
    return [skill.digest for skill in finder.find([place])]


def test_an_unchanged_folder_is_not_opened_again(
    place: SkillLocation, monkeypatch: pytest.MonkeyPatch
):
    finder = Finder()
    before = finder.find([place])
    monkeypatch.setattr(module, "opened_place", None)
    assert finder.find([place]) == before


def test_a_text_that_changes_is_read_again(place: SkillLocation):
    finder = Finder()
    assert described(finder, place) == {"one": "first"}
    (place.root / "one" / "SKILL.md").write_text(DOCUMENT.format(name="one", text="other"))
    assert described(finder, place) == {"one": "other"}


def test_skills_come_and_go(place: SkillLocation):
    finder = Finder()
    described(finder, place)
    make(place.root / "two", "second")
    assert described(finder, place) == {"one": "first", "two": "second"}
    (place.root / "one").rename(place.root / ".gone")
    assert described(finder, place) == {"two": "second"}


def test_a_file_in_a_folder_that_was_empty_is_seen(place: SkillLocation):
    finder = Finder()
    before = digests(finder, place)
    (place.root / "one" / "inner" / "more.txt").write_text("more")
    assert digests(finder, place) != before


def test_a_folder_of_skills_that_was_missing_is_seen(place: SkillLocation):
    finder, later = Finder(), SkillLocation("user", place.root, "later", "user:", "later")
    assert finder.find([later]) == []
    make(place.root / "later" / "three", "third")
    assert described(finder, later) == {"three": "third"}


def test_an_unusable_skill_is_looked_at_each_time(place: SkillLocation):
    finder = Finder()
    (place.root / "bad").mkdir()
    deep = place.root / "bad" / "/".join("abcdefgh")
    deep.mkdir(parents=True)
    (place.root / "bad" / "SKILL.md").write_text(DOCUMENT.format(name="bad", text="deep"))
    assert described(finder, place)["bad"] == ""
    deep.rmdir()
    deep.parent.rmdir()
    assert described(finder, place)["bad"] == "deep"


def test_what_changed_a_moment_ago_is_not_remembered(
    place: SkillLocation, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(module, "_TICK_NS", 10**12)
    finder = Finder()
    finder.find([place])
    monkeypatch.setattr(module, "opened_place", None)
    with pytest.raises(TypeError):
        finder.find([place])
