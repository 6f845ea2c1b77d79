"""Nothing of an archive gets outside the folder that it is unpacked into."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from app.cli.unpack import Unpacking


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size, info.mode = kind, link, 1, 0o777
    if kind != tarfile.REGTYPE:
        info.size = 0
    return info


def unpacked(folder: Path, *members: tarfile.TarInfo) -> list[str]:
    """Unpack these; the names of what was left out."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for info in members:
            tar.addfile(info, io.BytesIO(b"x"))
    archive.seek(0)
    folder.mkdir()
    with tarfile.open(fileobj=archive) as tar:
        parts = {info.name.partition("/")[0] for info in tar} - {"foreign"}
        unpacking = Unpacking(tar, folder, parts)
        for info in tar:
            unpacking.take(info)
        unpacking.finish()
    return [name for name, _ in unpacking.left_out]


@pytest.mark.parametrize(
    ("members", "left_out"),
    [
        ([member("../out")], ["../out"]),
        ([member("foreign"), member("foreign/a")], ["foreign", "foreign/a"]),
        ([member("a/../../out")], ["a/../../out"]),
        ([member("link", tarfile.SYMTYPE, "/")], ["link"]),
        ([member("link", tarfile.SYMTYPE, "..")], ["link"]),
        ([member("link", tarfile.SYMTYPE, ".."), member("link/out")], ["link/out", "link"]),
        ([member("out", tarfile.LNKTYPE, "../secret")], ["out"]),
        ([member("pipe", tarfile.FIFOTYPE)], ["pipe"]),
        ([member("null", tarfile.CHRTYPE)], ["null"]),
        (
            [
                member("deep/up", tarfile.SYMTYPE, ".."),
                member("further", tarfile.SYMTYPE, "deep/up/.."),
            ],
            ["further"],
        ),
        ([member("a", tarfile.SYMTYPE, "a")], []),
    ],
)
def test_what_leads_outside_is_left_out(tmp_path: Path, members, left_out: list[str]):
    (tmp_path / "secret").write_text("s", encoding="ascii")
    assert unpacked(tmp_path / "fresh", *members) == left_out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fresh", "secret"]


def test_an_absolute_name_is_left_out(tmp_path: Path):
    outside = tmp_path / "outside"
    assert unpacked(tmp_path / "fresh", member(str(outside))) == [str(outside)]
    assert not outside.exists()


def test_files_folders_and_links_inside_are_restored(tmp_path: Path):
    fresh = tmp_path / "fresh"
    left_out = unpacked(
        fresh,
        member("run"),
        member("empty", tarfile.DIRTYPE),
        member("sub/first"),
        member("sub/second", tarfile.SYMTYPE, "../run"),
    )
    assert left_out == []
    assert (fresh / "empty").is_dir()
    assert (fresh / "sub" / "second").read_bytes() == b"x"
    assert (fresh / "run").stat().st_mode & 0o777 == 0o700


def test_a_name_that_comes_twice_is_the_last_one(tmp_path: Path):
    assert unpacked(tmp_path / "fresh", member("a"), member("a")) == []
    assert (tmp_path / "fresh" / "a").read_bytes() == b"x"
