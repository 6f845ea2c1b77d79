from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.foreign_server import Answering, answering
from tests.cli.program import tollgate
from tests.cli.user import User


@pytest.fixture(scope="session")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory whose database is ready; its tests add to it and change nothing."""
    folder = tmp_path_factory.mktemp("installation")
    assert tollgate(folder, "db", "upgrade").returncode == 0
    return folder


@pytest.fixture
def user(tmp_path: Path) -> User:
    home, here = tmp_path / "home", tmp_path / "repository"
    home.mkdir()
    here.mkdir()
    return User(home, here)


@pytest.fixture
def elsewhere() -> Iterator[Answering]:
    with answering() as server:
        yield server
