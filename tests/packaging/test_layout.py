"""The files and folders that everyone looks for first."""

import pytest

from tests.support.source import ROOT

FILES = (
    *("pyproject.toml", "alembic.ini", "Dockerfile", "compose.yaml", ".env.example"),
    *("README.md", "LICENSE"),
)


@pytest.mark.requirement("CFG-02")
def test_the_named_files_and_folders_stand_at_the_top():
    assert [name for name in FILES if not (ROOT / name).is_file()] == []
    assert [name for name in ("app", "alembic", "tests") if not (ROOT / name).is_dir()] == []
