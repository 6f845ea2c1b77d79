"""Private folders: removed whatever was left in them, and never more than them."""

from __future__ import annotations

import asyncio
import os
import stat
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor, thread
from pathlib import Path

import pytest

from app.operations.sandbox.config import SandboxConfig
from app.operations.sandbox.folders import TemporaryFolders, remove_tree
from app.operations.sandbox.sandbox import Sandbox
from scripts.parts import ROOT_USER
from tests.operations.conftest import names, open_descriptors
from tests.support.binaries import needs
from tests.support.places import open_to_others

PATIENCE_S = 60


def test_a_folder_is_private_and_goes_with_its_base(tmp_path: Path):
    before = open_descriptors()
    folders = TemporaryFolders(tmp_path / "place")

    one, other = Path(folders.make()), Path(folders.make())

    assert stat.S_IMODE(one.stat().st_mode) == 0o700
    assert one != other
    folders.remove(str(one))
    assert not one.exists()
    folders.close()
    folders.close()
    assert names(tmp_path / "place") == []
    assert open_descriptors() == before


def test_a_tree_deeper_than_any_path_is_removed(tmp_path: Path):
    top = tmp_path / "top"
    top.mkdir()
    here = os.open(top, os.O_RDONLY)
    for _ in range(3000):
        os.mkdir("deep", dir_fd=here)
        inner = os.open("deep", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(here)

    remove_tree(top)

    assert not top.exists()


def test_what_links_lead_to_stays(tmp_path: Path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("x")
    outside.chmod(0o750)
    top = tmp_path / "top"
    (top / "inner").mkdir(parents=True)
    (top / "link").symlink_to(outside)
    (top / "inner" / "link").symlink_to(outside / "kept")
    os.link(outside / "kept", top / "hard")

    remove_tree(top)

    assert not top.exists()
    assert (outside / "kept").read_text() == "x"
    assert stat.S_IMODE(outside.stat().st_mode) == 0o750


def test_many_folders_side_by_side_are_removed(tmp_path: Path):
    top = tmp_path / "top"
    for number in range(40):
        for inner in ("a", "b", "c"):
            (top / str(number) / inner).mkdir(parents=True)
            (top / str(number) / inner / "file").write_text("x")

    remove_tree(top)

    assert not top.exists()


def test_a_folder_that_was_moved_out_is_not_followed_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    outside = tmp_path / "outside"
    (outside / "kept" / "inner").mkdir(parents=True)
    top = tmp_path / "top"
    (top / "a" / "moved").mkdir(parents=True)
    unlink = os.unlink

    def unlink_and_move(name: str, *, dir_fd: int) -> None:
        unlink(name, dir_fd=dir_fd)
        (top / "a" / "moved").rename(outside / "moved")

    (top / "a" / "moved" / "trigger").write_text("x")
    monkeypatch.setattr(os, "unlink", unlink_and_move)

    remove_tree(top)

    assert names(outside) == ["kept", "moved"]
    assert names(outside / "kept") == ["inner"]


CLOSED = """
import os, sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from app.operations.sandbox.folders import remove_tree
os.setgroups([]); os.setgid(65534); os.setuid(65534)
top = Path(sys.argv[1]) / "top"
(top / "closed" / "inner").mkdir(parents=True)
(top / "closed" / "inner" / "file").write_text("x")
(top / "closed" / "inner").chmod(0)
(top / "closed").chmod(0)
remove_tree(top)
sys.exit(top.exists())
"""


@needs(ROOT_USER)
def test_closed_folders_are_no_hindrance_to_an_ordinary_user(tmp_path: Path):
    place = tmp_path / "open"
    place.mkdir()
    os.chown(place, 65534, 65534)
    open_to_others(place)
    code = [sys.executable, "-c", CLOSED, str(place)]

    done = subprocess.run(code, cwd=Path.cwd(), capture_output=True, check=False)

    assert (done.returncode, done.stderr) == (0, b"")


KILLED = """
import os, signal, sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from app.operations.sandbox.folders import TemporaryFolders
TemporaryFolders(Path(sys.argv[1])).make()
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_process_left_is_removed_and_what_a_living_one_holds_is_not(tmp_path: Path):
    living = TemporaryFolders(tmp_path)
    held = Path(living.make())
    subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], cwd=Path.cwd(), check=False)
    assert len(names(tmp_path)) == 2

    folders = TemporaryFolders(tmp_path)
    folders.make()

    assert held.exists()
    assert len(names(tmp_path)) == 2
    folders.close()
    living.close()
    assert names(tmp_path) == []


def test_threads_that_ask_first_at_the_same_time_share_one_base(tmp_path: Path):
    folders = TemporaryFolders(tmp_path)
    with ThreadPoolExecutor(8) as pool:
        made = [Path(folder) for folder in pool.map(lambda _: folders.make(), range(32))]
    assert len({folder.parent for folder in made}) == 1
    folders.close()
    assert names(tmp_path) == []


async def test_a_finalizer_drops_a_folder_whatever_lock_is_held(tmp_path: Path):
    async with Sandbox(SandboxConfig(temporary=tmp_path)) as sandbox:
        folder = Path(await sandbox.make_folder())
        dropping = threading.Thread(target=sandbox.drop_folder, args=(str(folder),), daemon=True)
        # Every pool of a process takes this lock, and makes objects while it holds it: that is
        # when the collector may run, and finalizers with it.
        with thread._global_shutdown_lock:
            dropping.start()
            dropping.join(PATIENCE_S)
            assert not dropping.is_alive()
        await sandbox.make_folder()
        async with asyncio.timeout(PATIENCE_S):
            while folder.name in names(folder.parent):  # noqa: ASYNC110 - nobody tells of it
                await asyncio.sleep(0)
