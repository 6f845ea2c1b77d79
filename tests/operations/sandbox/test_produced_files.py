"""Reading what code left behind: no link is followed, nothing is unbounded."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from app.operations.protocols.code import ProducedFile
from app.operations.sandbox import produced_files
from app.operations.sandbox.produced_files import read_produced
from tests.operations.conftest import fill_folder, open_descriptors


def test_files_come_smallest_first_with_their_paths(tmp_path: Path):
    fill_folder(tmp_path, {"big.txt": "long text", "sub/small.png": b"\x89PNG"})

    assert read_produced(str(tmp_path)) == (
        (ProducedFile("sub/small.png", b"\x89PNG"), ProducedFile("big.txt", b"long text")),
        0,
    )


def test_links_devices_and_folders_lead_nowhere(tmp_path: Path):
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "key").write_text("s3cret")
    work = tmp_path / "work"
    work.mkdir()
    (work / "file").symlink_to(secret / "key")
    (work / "folder").symlink_to(secret)
    os.mkfifo(work / "pipe")
    (work / ".hidden").mkdir()
    (work / ".hidden" / "cache").write_text("x")
    before = open_descriptors()

    assert read_produced(str(work)) == ((), 0)
    assert open_descriptors() == before


def test_the_bounds_hold_and_the_rest_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    fill_folder(tmp_path, {f"{number:02}": b"x" for number in range(30)})

    files, left_out = read_produced(str(tmp_path))

    assert (len(files), left_out) == (produced_files.MAX_FILES, 10)


def test_a_huge_file_is_left_out_without_being_read(tmp_path: Path):
    (tmp_path / "small").write_bytes(b"x")
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(1 << 40)

    files, left_out = read_produced(str(tmp_path))

    assert ([file.path for file in files], left_out) == (["small"], 1)


def test_the_total_is_bounded(tmp_path: Path):
    for number in range(5):
        with (tmp_path / str(number)).open("wb") as file:
            file.truncate(produced_files.MAX_FILE_BYTES)

    files, left_out = read_produced(str(tmp_path))

    assert (len(files), left_out) == (3, 2)


def test_a_very_deep_folder_is_no_trap(tmp_path: Path):
    here = tmp_path
    for _ in range(20):
        here /= "d"
    here.mkdir(parents=True)
    (here / "file").write_text("x")

    assert read_produced(str(tmp_path)) == ((), 0)
