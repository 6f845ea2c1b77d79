"""Setting up from nothing: what is decided, refused and explained."""

import fcntl
import json
import os
import shutil
import subprocess
import sys

import pytest

from scripts import bootstrap

RUNTIME = {"base": "b", "project": "p", "group": "runtime"}
WANTED = {"base": "b", "project": "p", "docs": "d"}


@pytest.fixture
def made(tmp_path):
    """A folder that looks like a finished environment with one package."""
    venv = tmp_path / ".venv"
    (venv / "bin").mkdir(parents=True)
    for name in ("python", "tollgate"):
        (venv / "bin" / name).write_text("", encoding="utf-8")
    (venv / "lib/python3.11/site-packages/rich-15.dist-info").mkdir(parents=True)
    (venv / "pyvenv.cfg").write_text("", encoding="utf-8")
    stamp = {**RUNTIME, "packages": ["rich-15.dist-info"]}
    (venv / bootstrap.STAMP).write_text(json.dumps(stamp), encoding="utf-8")
    return venv


@pytest.mark.parametrize(
    ("stamp", "group", "steps"),
    [
        (RUNTIME, "runtime", []),
        (RUNTIME, "dev", ["packages"]),
        ({**RUNTIME, "group": "dev"}, "runtime", []),
        ({**RUNTIME, "project": "old"}, "runtime", ["project"]),
        ({**RUNTIME, "base": "old"}, "runtime", ["base", "packages", "project"]),
        ({}, "dev", ["base", "packages", "project"]),
        ({}, "docs", ["base", "packages", "project", "docs"]),
        ({**RUNTIME, "group": "dev", "docs": "old"}, "docs", ["docs"]),
        ({**RUNTIME, "group": "dev", "docs": "old"}, "dev", []),
        ({**RUNTIME, "group": "dev", "docs": "d"}, "docs", []),
    ],
)
def test_only_what_changed_is_done_again(stamp, group, steps):
    assert bootstrap.missing_steps(stamp, WANTED, group) == steps


def test_a_finished_environment_is_recognised(made):
    assert bootstrap.read_stamp(made)["group"] == "runtime"


@pytest.mark.parametrize("lost", ["bin/python", "bin/tollgate", bootstrap.STAMP])
def test_an_environment_that_lost_a_file_is_made_again(made, lost):
    (made / lost).unlink()
    assert bootstrap.read_stamp(made) == {}


def test_an_environment_that_lost_a_package_is_made_again(made):
    (made / "lib/python3.11/site-packages/rich-15.dist-info").rmdir()
    assert bootstrap.read_stamp(made) == {}


@pytest.mark.parametrize("text", ["", "[]", "{", '{"packages": 3}'])
def test_a_damaged_stamp_means_that_the_environment_is_made_again(made, text):
    (made / bootstrap.STAMP).write_text(text, encoding="utf-8")
    assert bootstrap.read_stamp(made) == {}


def test_the_stamp_depends_on_the_locks_the_project_and_the_place(tmp_path):
    (tmp_path / "requirements").mkdir()
    for name in (*bootstrap.LOCKS, "docs"):
        (tmp_path / "requirements" / f"{name}.txt").write_text("a==1", encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text("[project]", encoding="utf-8")
    before = bootstrap.wanted_stamp(tmp_path, tmp_path / ".venv")
    elsewhere = bootstrap.wanted_stamp(tmp_path, tmp_path / "other")
    (tmp_path / "requirements/dev.txt").write_text("a==2", encoding="utf-8")
    after = bootstrap.wanted_stamp(tmp_path, tmp_path / ".venv")
    assert len({before["base"], elsewhere["base"], after["base"]}) == 3
    assert before["project"] == after["project"]


def test_a_folder_that_is_no_environment_is_never_removed(tmp_path):
    precious = tmp_path / "letters" / "first.txt"
    precious.parent.mkdir()
    precious.write_text("dear", encoding="utf-8")
    with pytest.raises(bootstrap.SetupFailed, match="is not a virtual environment"):
        bootstrap.clear(precious.parent)
    assert precious.read_text(encoding="utf-8") == "dear"


def test_a_link_to_an_environment_is_not_followed_when_clearing(made, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(made)
    with pytest.raises(bootstrap.SetupFailed):
        bootstrap.clear(link)
    assert (made / "pyvenv.cfg").exists()


def test_an_old_environment_is_removed(made):
    bootstrap.clear(made)
    assert not made.exists()


def test_two_set_ups_do_not_work_at_the_same_time(tmp_path):
    with bootstrap.alone(tmp_path / ".venv"):
        other = os.open(tmp_path, os.O_RDONLY)
        with pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(other)
    assert list(tmp_path.iterdir()) == []


def test_an_old_python_is_shown_what_is_needed():
    with pytest.raises(bootstrap.SetupFailed, match=r"needs Python 3\.11 or newer; old is 3\.9"):
        bootstrap.check_python((3, 9), "old")


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        ("OSError: [Errno 28] No space left on device", "the disk is full"),
        ("NewConnectionError: Temporary failure in name resolution", "cannot be reached"),
        ("THESE PACKAGES DO NOT MATCH THE HASHES", "differs from the one that was locked"),
        ("The virtual environment was not created: ensurepip is not available", "python3-venv"),
        ("Segmentation fault", "a command failed"),
    ],
)
def test_a_failed_step_is_explained(output, reason):
    text = bootstrap.explain(output, "The packages")
    assert reason in text
    assert output in text


def test_a_full_disk_is_named_even_when_the_failed_program_did_not():
    assert "the disk is full" in bootstrap.explain("ensurepip failed", "A step", full=True)


def test_room_is_looked_for_where_the_environment_will_be(tmp_path):
    free = shutil.disk_usage(tmp_path).free
    assert bootstrap.is_full(tmp_path / "not" / "yet") == (free < bootstrap.LITTLE_SPACE)


def test_sources_are_translated_also_where_running_them_writes_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.delenv("PYTHONPYCACHEPREFIX", raising=False)
    (tmp_path / "good.py").write_text("ANSWER = 42", encoding="utf-8")
    (tmp_path / "broken.py").write_text("ANSWER =", encoding="utf-8")
    bootstrap.translate(sys.executable, tmp_path)
    written = [path.name for path in (tmp_path / "__pycache__").iterdir()]
    assert written == [f"good.{sys.implementation.cache_tag}.pyc"]


def test_a_command_of_the_set_up_that_fails_says_why():
    with pytest.raises(bootstrap.SetupFailed, match="the disk is full"):
        bootstrap.checked(
            [sys.executable, "-c", "raise SystemExit('No space left on device')"], "A step"
        )


def test_a_program_that_cannot_be_started_is_named(tmp_path):
    with pytest.raises(bootstrap.SetupFailed, match="cannot be started"):
        bootstrap.checked([str(tmp_path / "nothing")], "A step")


@pytest.mark.parametrize("arguments", [[], ["dance"], ["lock", "now"]])
def test_an_unknown_command_is_a_usage_error(arguments):
    done = subprocess.run(
        [sys.executable, "scripts/bootstrap.py", *arguments],
        cwd=bootstrap.ROOT,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        check=False,
    )
    assert (done.returncode, done.stderr.split(":")[0]) == (2, "usage")


def test_every_folder_of_the_fast_tests_is_there():
    """pytest runs nothing at all when one of its paths is missing."""
    folders = [bootstrap.ROOT / "tests" / name for name in bootstrap.FAST.split()]
    assert [str(folder) for folder in folders if not folder.is_dir()] == []


@pytest.mark.parametrize(
    ("words", "variable", "wanted"),
    [
        ([], None, ["--data-dir", "data"]),
        (["--data-dir=/srv/x"], None, []),
        ([], "/srv/x", []),
    ],
)
def test_run_keeps_its_data_in_the_tree_unless_a_folder_is_named(
    monkeypatch, words, variable, wanted
):
    monkeypatch.delenv("TOLLGATE_DATA_DIR", raising=False)
    if variable:
        monkeypatch.setenv("TOLLGATE_DATA_DIR", variable)
    assert bootstrap.own_data(words) == wanted
