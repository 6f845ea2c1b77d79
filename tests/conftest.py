"""What holds for every test: the contract ids that tests prove, the parts that they need, and in
which process they run."""

import atexit
import gc
import os
import shutil
import signal
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.requirements.pages import proven_by_scenes
from tests.support.assertion_rewrite import compile_all, rewrite_all
from tests.support.binaries import require_part
from tests.support.installed import installed_once  # noqa: F401 - a fixture for all tests
from tests.support.last_run import LastRun

ROOT = Path(__file__).resolve().parent.parent
TESTED = pytest.StashKey[set[str]]()
WHOLE_SUITE = pytest.StashKey[bool]()


# How long an example takes is no subject of a test.
settings.register_profile("suite", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")


# What a user keeps at home, a test's program keeps here: a developer's own service is not found.
HOMES = ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME")


def pytest_configure(config: pytest.Config) -> None:
    """Record the run, once: a worker tells the process that started it of each test."""
    if not hasattr(config, "workerinput"):
        home = tempfile.mkdtemp(prefix="tollgate-tests-")
        atexit.register(shutil.rmtree, home, ignore_errors=True)
        os.environ.update(dict.fromkeys(HOMES, home))
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(LastRun())
        if config.getoption("numprocesses", None):
            compile_all(ROOT / "app", ROOT / "tests" / "support")
            rewrite_all(config, ROOT / "tests")
    # A shell starts what it puts in the background deaf to Ctrl-C, and so would be every program
    # that a test starts to interrupt it.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip, or in CI fail, a test that needs a part which this machine lacks."""
    for mark in item.iter_markers("needs"):
        require_part(mark.args[0])


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the ids that tests are marked with, before `-k` and `-m` take tests away."""
    marked = {
        str(id_) for item in items for mark in item.iter_markers("requirement") for id_ in mark.args
    }
    config.stash[TESTED] = marked | proven_by_scenes(ROOT / "web" / "e2e")
    if hasattr(config, "workerinput"):
        items.sort(key=urgency)


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


# Their judges look at the whole machine, and their bombs load it: one after another.
TOGETHER = ("tests/escape/", "tests/operations/sandbox/jail/test_limits.py")
# What takes longest starts first: the last file to start decides how long the run takes.
SLOW_FIRST = (
    *("tests/escape/", "tests/benchmarks/", "tests/crash/", "tests/api/test_every_entry_point.py"),
    *("tests/agents/delegation/", "tests/agents/", "tests/cli/", "tests/api/", "tests/workers/"),
    *("tests/execution/", "tests/operations/sandbox/"),
)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """A file stays in one process, and so do all attempts to escape."""
    from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

    class ByPlace(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            return place_of(nodeid.partition("::")[0])

    # The order is ours, not that of how many tests a file has.
    config.option.loadscopereorder = False
    return ByPlace(config, log)


def place_of(file: str) -> str:
    """What stays in one process with a file."""
    return TOGETHER[0] if file.startswith(TOGETHER) else file


def urgency(item: pytest.Item) -> int:
    """How early a test starts: less is earlier."""
    place = place_of(item.nodeid.partition("::")[0])
    return next((at for at, name in enumerate(SLOW_FIRST) if place.startswith(name)), 99)


@pytest.fixture(scope="module", autouse=True)
def nothing_piles_up() -> None:
    """Collect what the file before has left: a gate holds the folders of its projects open until
    then. What stays is spared from now on: to go through all tests took a sixth of a run."""
    gc.collect()
    gc.freeze()
    # As in a service: at Python's own thresholds it took a tenth of the processor time.
    gc.set_threshold(20_000, 20, 100)


@pytest.fixture(scope="session")
def tested_requirements(request: pytest.FixtureRequest) -> set[str]:
    """The ids that the collected tests prove."""
    return request.config.stash[TESTED]


@pytest.fixture(scope="session")
def whole_suite(request: pytest.FixtureRequest) -> bool:
    """Whether every test of the project was collected, so that a missing one is missing."""
    return request.config.stash[WHOLE_SUITE]
