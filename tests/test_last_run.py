"""The table of missing parts at the end of a run, and the report of what it took."""

from types import SimpleNamespace
from typing import Any

import pytest

from tests.support import last_run
from tests.support.last_run import LastRun, report, skip_table


def heard(nodeid: str, duration: float, reason: str | None = None) -> Any:
    """A report as pytest makes one."""
    longrepr = None if reason is None else ("file.py", 1, f"Skipped: {reason}")
    return SimpleNamespace(
        nodeid=nodeid, duration=duration, skipped=reason is not None, longrepr=longrepr
    )


def test_the_table_names_each_missing_part_its_tests_and_what_provides_it():
    lines = skip_table({"MariaDB": 12, "pwsh": 1}).splitlines()
    assert [line.split(maxsplit=2) for line in lines] == [
        ["part", "tests", "provided by"],
        ["MariaDB", "12", "apt-get install mariadb-server"],
        ["pwsh", "1", "install pwsh"],
    ]


def test_the_report_sums_directories_and_lists_the_slowest_tests():
    text = report({"tests/api/test_a.py::one": 2.0, "tests/api/ws/b.py::two": 1.5, "t/x.py::y": 9})
    folders, slowest = text.split("\n\n")
    assert [line.split() for line in folders.splitlines()[1:]] == [
        ["9.0", "1", "t/x.py"],
        ["3.5", "2", "tests/api"],
        ["12.5", "3", "all"],
    ]
    assert slowest.splitlines()[1].split() == ["9.00", "t/x.py::y"]


def test_a_run_is_recorded_with_the_time_of_every_phase_of_a_test(tmp_path, monkeypatch, capsys):
    place = tmp_path / "cache" / "run.json"
    run = LastRun(place)
    for duration in (0.25, 1.0, 0.5):
        run.pytest_runtest_logreport(heard("tests/a.py::one", duration))
    run.pytest_sessionfinish()
    monkeypatch.setattr(last_run, "KEPT", place)
    assert last_run.main() == 0
    assert "1.75     tests/a.py::one" in capsys.readouterr().out


def test_without_a_run_the_report_says_what_to_do(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(last_run, "KEPT", tmp_path / "none.json")
    assert last_run.main() == 1
    assert "run `make test` first" in capsys.readouterr().err


@pytest.mark.parametrize("reason", ["needs MariaDB", "only root can give files away"])
def test_only_what_lacks_a_part_is_in_the_table(tmp_path, reason):
    written: list[str] = []
    terminal: Any = SimpleNamespace(section=written.append, write_line=written.append)
    run = LastRun(tmp_path / "run.json")
    run.pytest_runtest_logreport(heard("tests/a.py::one", 0, reason))
    run.pytest_terminal_summary(terminal)
    assert ("MariaDB" in "".join(written)) == (reason == "needs MariaDB")
