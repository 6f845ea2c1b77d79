"""What the tests themselves rely on."""

import pytest

from tests.support.binaries import require_binary


@pytest.mark.parametrize(
    ("ci", "outcome"), [("true", pytest.fail.Exception), ("", pytest.skip.Exception)]
)
def test_a_missing_program_skips_at_a_desk_and_fails_in_ci(monkeypatch, ci, outcome):
    monkeypatch.setenv("CI", ci)
    monkeypatch.delenv("TOLLGATE_CI", raising=False)
    with pytest.raises(outcome, match="'no-such-program' is not installed"):
        require_binary("no-such-program")


def test_a_program_that_is_there_is_found():
    assert require_binary("sh").name == "sh"
