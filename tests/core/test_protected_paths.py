"""The table of files that other programs run or obey later."""

from __future__ import annotations

import pytest

from app.core.protected_paths import PROTECTED_PATHS, protected


def example_of(pattern: str) -> str:
    """A path that a pattern is about."""
    text = pattern.replace("/**", "/a/b").replace("*", "x")
    return f"/home/ann/{text[2:]}" if text.startswith("~/") else f"/srv/project/{text}"


@pytest.mark.parametrize("row", PROTECTED_PATHS, ids=lambda row: row.patterns[0])
def test_every_pattern_of_a_row_is_found_and_says_who_runs_it(row):
    for pattern in row.patterns:
        found = protected(example_of(pattern))
        assert found is not None, pattern
        assert found.run_by, pattern
        assert found.when, pattern


def test_no_pattern_is_listed_twice():
    patterns = [pattern for row in PROTECTED_PATHS for pattern in row.patterns]
    assert len(patterns) == len(set(patterns))


@pytest.mark.parametrize(
    "path",
    [
        *("/w/README.md", "/w/config", "/w/git/config", "/w/hooks/pre-commit", "/w/.github/x.md"),
        *("/w/.gitignore", "/w/profile", "/w/.bashrc", "/w/model.pth", "/w/.vscode/notes.md"),
        *("/home/ann", "/home/ann/project/.profile", "/w/.git/hooks/x.sample", "/w/.git/HEAD"),
        *("/w/.cargo/registry/x", "/w/my.envrc", "/w/.envrc.example", "/w/.husky", "/"),
    ],
)
def test_other_files_are_not_in_it(path: str):
    assert protected(path) is None


def test_a_home_folder_elsewhere_counts_where_it_is_known():
    assert protected("/srv/people/ann/.bashrc") is None
    assert protected("/srv/people/ann/.bashrc", "/srv/people/ann") is not None
