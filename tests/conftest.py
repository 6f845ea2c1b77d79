"""What holds for every test: the contract ids that the collected tests prove."""

import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.requirements.pages import proven_by_scenes

ROOT = Path(__file__).resolve().parent.parent
TESTED = pytest.StashKey[set[str]]()
WHOLE_SUITE = pytest.StashKey[bool]()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the ids that tests are marked with, before `-k` and `-m` take tests away."""
    marked = {
        str(id_) for item in items for mark in item.iter_markers("requirement") for id_ in mark.args
    }
    config.stash[TESTED] = marked | proven_by_scenes(ROOT / "web" / "e2e")


def pytest_collection_finish(session: pytest.Session) -> None:
    """Tell whether every test of the project was collected without an error."""
    config = session.config
    asked = {Path(name.split("::")[0]).resolve() for name in config.args}
    session.config.stash[WHOLE_SUITE] = (
        bool(asked & {ROOT, ROOT / "tests"})
        and not any("::" in name for name in config.args)
        and session.testsfailed == 0
        and not any(
            config.getoption(name, None) for name in ("ignore", "ignore_glob", "deselect", "lf")
        )
    )


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """A file stays in one process, and so do all attempts to escape: their judges look at the
    whole machine for what another attempt may be doing just then."""
    from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

    class ByPlace(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            return "tests/escape" if file.startswith("tests/escape/") else file

    return ByPlace(config, log)


@pytest.fixture(scope="module", autouse=True)
def nothing_piles_up() -> Iterator[None]:
    """A gate holds the folders of its projects open until it is collected, and with so many
    objects of tests about, the collector takes its time."""
    yield
    gc.collect()


@pytest.fixture(scope="session")
def tested_requirements(request: pytest.FixtureRequest) -> set[str]:
    """The ids that the collected tests prove."""
    return request.config.stash[TESTED]


@pytest.fixture(scope="session")
def whole_suite(request: pytest.FixtureRequest) -> bool:
    """Whether every test of the project was collected, so that a missing one is missing."""
    return request.config.stash[WHOLE_SUITE]
