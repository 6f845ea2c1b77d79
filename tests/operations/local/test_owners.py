"""A root service leaves files to whoever owns the folder: commands run as that user."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.operations.local.owners import give_folder
from app.operations.local.workspace import LocalWorkspace
from app.operations.protocols.operations import Operations
from scripts.parts import ROOT_USER
from tests.support.binaries import needs

USER, OTHER = 65534, 12345

pytestmark = needs(ROOT_USER)  # only root can give files away


@pytest.fixture
def shared(root: Path) -> Iterator[Operations]:
    os.chown(root, USER, USER)
    with LocalWorkspace(root) as workspace:
        yield workspace.operations


def owners(root: Path) -> dict[str, tuple[int, int]]:
    found = ((path, path.stat()) for path in root.rglob("*"))
    return {str(path.relative_to(root)): (stat.st_uid, stat.st_gid) for path, stat in found}


async def test_new_files_and_folders_belong_to_the_owner_of_their_folder(
    shared: Operations, root: Path
):
    await shared.files.write("a/b/new.txt", b"1")
    await shared.files.make_dir("c")

    assert owners(root) == dict.fromkeys(("a", "a/b", "a/b/new.txt", "c"), (USER, USER))


async def test_a_file_that_is_replaced_keeps_its_owner(shared: Operations, root: Path):
    for name, owner in (("theirs", OTHER), ("roots", 0)):
        (root / name).write_text("old")
        os.chown(root / name, owner, owner)
        await shared.files.write(name, b"new")

    assert owners(root) == {"theirs": (OTHER, OTHER), "roots": (0, 0)}


@pytest.mark.parametrize("kind", ["full", "link"])
def test_a_folder_that_was_put_in_the_place_of_the_new_one_is_not_given_away(
    root: Path, tmp_path: Path, kind: str
):
    os.chown(root, USER, USER)
    secret = root / "new" if kind == "full" else tmp_path / "outside"
    secret.mkdir()
    if kind == "full":
        (secret / "key").write_text("secret")
    else:
        (root / "new").symlink_to(secret)
    folder = os.open(root, os.O_PATH)

    give_folder(folder, "new")

    os.close(folder)
    assert secret.stat().st_uid == 0
