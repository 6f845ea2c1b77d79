from pathlib import Path

import pytest

from tests.cli.program import tollgate


@pytest.fixture(scope="session")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory whose database is ready; its tests add to it and change nothing."""
    folder = tmp_path_factory.mktemp("installation")
    assert tollgate(folder, "db", "upgrade").returncode == 0
    return folder
