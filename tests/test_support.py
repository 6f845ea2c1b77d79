"""What the tests themselves rely on."""

import pytest

from scripts.parts import Part
from tests.support.binaries import require_binary, require_part
from tests.support.translations import check_translated, in_order


@pytest.mark.parametrize(
    ("ci", "outcome"), [("true", pytest.fail.Exception), ("", pytest.skip.Exception)]
)
def test_a_missing_program_skips_at_a_desk_and_fails_in_ci(monkeypatch, ci, outcome):
    monkeypatch.setenv("CI", ci)
    monkeypatch.delenv("TOLLGATE_CI", raising=False)
    with pytest.raises(outcome, match="needs no-such-program"):
        require_binary("no-such-program")


def test_a_program_that_is_there_is_found():
    assert require_binary("sh").name == "sh"


def test_a_missing_part_is_named_by_the_program_that_is_looked_for(monkeypatch):
    monkeypatch.setenv("CI", "true")
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(pytest.fail.Exception, match="needs MariaDB; `apt-get install mariadb"):
        require_binary("mariadbd")


def test_a_part_that_no_package_provides_may_be_missing_in_ci(monkeypatch):
    monkeypatch.setenv("CI", "true")
    part = Part("a daemon", "start it", programs=("no-such-program",), required=False)
    with pytest.raises(pytest.skip.Exception, match="needs a daemon"):
        require_part(part)


def test_a_missing_translation_is_a_failure_at_a_release_alone(monkeypatch):
    monkeypatch.delenv("CHECK_RELEASE", raising=False)
    in_order(["one", "two", "three"], ["one", "three"])
    monkeypatch.setenv("CHECK_RELEASE", "1")
    with pytest.raises(AssertionError, match="not translated yet"):
        check_translated(["one", "two"], ["one"])


def test_a_translation_of_nothing_is_a_failure(monkeypatch):
    monkeypatch.delenv("CHECK_RELEASE", raising=False)
    with pytest.raises(AssertionError, match="nothing of this name"):
        check_translated(["one"], ["one", "gone"])
