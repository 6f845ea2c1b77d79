"""A backup is whole, its owner's alone, and becomes an installation whose audit holds."""

from __future__ import annotations

import errno
import io
import json
import os
import shlex
import sqlite3
import subprocess
import sys
import tarfile
from contextlib import closing
from pathlib import Path

import pytest

from app.cli.backup import back_up
from app.cli.target import InstallationFolder
from app.config.settings import load_settings
from app.core.errors import InvalidInput
from scripts.parts import ROOT_USER
from tests.cli.program import environment, json_lines, tollgate
from tests.cli.test_serve import started
from tests.support.binaries import needs
from tests.support.database import new_database


@pytest.fixture
def used(tmp_path: Path) -> Path:
    """An installation in which something happened."""
    folder = tmp_path / "used"
    new_database(folder / "tollgate.db")
    assert tollgate(folder, "token", "create", "ann").returncode == 0
    wrote = tollgate(folder, "call", "write_file", "path=notes.txt", "content=one")
    assert wrote.returncode == 0, wrote.stderr
    (folder / "keys").mkdir()
    (folder / "keys" / "sources.key").write_text("secret", encoding="ascii")
    (folder / ".env").write_text("ANTHROPIC_API_KEY=secret\n", encoding="ascii")
    (folder / "config.yml").write_text("log_level: error\n", encoding="ascii")
    return folder


def names_in(folder: Path) -> set[str]:
    """What it holds, but for what a database makes while it is open, and the lock."""
    names = {path.name for path in folder.iterdir()}
    return {name for name in names if not name.startswith(("tollgate.db-", "service.lock"))}


def rows(folder: Path) -> int:
    return len(json_lines(tollgate(folder, "audit", "--json", "--limit", "1000").stdout))


def test_a_backup_of_a_running_service_is_whole_and_its_owner_s_alone(used: Path, tmp_path: Path):
    file = tmp_path / "copy.tar.gz"
    with started(used):
        made = tollgate(used, "backup", str(file))
    again = tollgate(used, "backup", str(file))
    fresh = tmp_path / "fresh"
    restored = tollgate(tmp_path, "restore", str(file), "--data-dir", str(fresh))

    assert (made.returncode, made.stdout) == (0, f"{file}\n")
    assert "--with-keys" in made.stderr
    assert "to this machine: .env, config.yml.\n" in made.stderr
    assert file.stat().st_mode & 0o777 == 0o600
    assert (again.returncode, again.stdout) == (2, "")
    with tarfile.open(file) as tar:
        names = set(tar.getnames())
    assert {"tollgate.db", "audit.anchor", "workspace/notes.txt"} <= names
    kept_back = ("bootstrap", "keys", ".env", "config")
    assert not {name for name in names if name.startswith(kept_back)}
    assert restored.returncode == 0, restored.stderr
    assert "chain verified" in restored.stdout
    assert (fresh / "workspace" / "notes.txt").read_text(encoding="utf-8") == "one"
    assert (fresh / "tollgate.db").stat().st_mode & 0o777 == 0o600
    listed = json.loads(tollgate(fresh, "token", "list", "--json").stdout)["tokens"]
    assert [row["name"] for row in listed] == ["ann"]
    with started(fresh) as (_, facts):
        assert facts["data"] == str(fresh)
    assert tollgate(fresh, "audit", "--verify").returncode == 0


def test_restoring_an_earlier_state_explains_the_cut_in_the_audit_itself(
    used: Path, tmp_path: Path
):
    file = tmp_path / "copy.tar.gz"
    assert tollgate(used, "backup", str(file)).returncode == 0
    before = rows(used)
    # A service notes the ends of the chain when it starts and stops.
    with started(used):
        pass
    for number in range(3):
        tollgate(used, "call", "calculator", f"expression={number}")
    lost = rows(used) - before
    refused = tollgate(used, "restore", str(file))
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "--replace" in refused.stderr

    restored = tollgate(used, "restore", str(file), "--replace")

    assert restored.returncode == 0, restored.stderr
    assert f"Rows {before + 1} to {before + lost} of the previous audit log" in restored.stdout
    checked = json.loads(tollgate(used, "audit", "--verify", "--json").stdout)
    assert (checked["ok"], checked["rows"]) == (True, before + 1)
    (row,) = json_lines(tollgate(used, "audit", "--json", "--kind", "installation.").stdout)
    cut = json.loads(row["detail"])
    assert cut["replaced"]["seq"] == before + lost
    assert cut["backup"]["audit"]["seq"] == before
    (kept,) = used.glob("before-restore-*")
    with closing(sqlite3.connect(kept / "tollgate.db")) as connection:
        assert connection.execute("SELECT max(seq) FROM audit").fetchone() == (before + lost,)
    assert {".env", "config.yml", "keys"} <= {path.name for path in used.iterdir()}
    with started(used) as (_, facts):
        assert "token" in facts["access"]


def test_a_folder_that_a_service_has_is_not_touched(used: Path, tmp_path: Path):
    file = tmp_path / "copy.tar.gz"
    assert tollgate(used, "backup", str(file)).returncode == 0
    with started(used):
        refused = tollgate(used, "restore", str(file), "--replace")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "stop it first" in refused.stderr
    assert list(used.glob("before-restore-*")) == []


def packed(path: Path, *members: tuple[str, bytes], link: str = "") -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
        if link:
            info = tarfile.TarInfo("workspace")
            info.type, info.linkname = tarfile.SYMTYPE, link
            tar.addfile(info)
    return path


MANIFEST = ("manifest.json", b'{"format": 1, "made_at": "now", "audit": null}')


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ([("other.txt", b"x")], "is not a backup"),
        ([("manifest.json", b'{"format": 99}')], "is not a backup"),
        ([MANIFEST, ("tollgate.db", b"nonsense" * 1000)], "damaged"),
    ],
)
def test_what_is_no_backup_changes_nothing(used: Path, tmp_path: Path, members, said: str):
    file = packed(tmp_path / "copy.tar.gz", *members)
    before = (used / "tollgate.db").read_bytes()
    refused = tollgate(used, "restore", str(file), "--replace")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert said in refused.stderr
    assert refused.stderr.count("\n") == 1
    assert (used / "tollgate.db").read_bytes() == before
    assert list(used.glob(".restoring-*")) == []


def test_what_is_no_part_of_a_backup_is_left_out_and_named(tmp_path: Path):
    database = tmp_path / "some.db"
    new_database(database)
    strange = ("service.lock", "config.yml", "tollgate.db-wal", "before-restore-x/a")
    members = ((name, b"x") for name in strange)
    file = packed(
        tmp_path / "copy.tar.gz", MANIFEST, ("tollgate.db", database.read_bytes()), *members
    )
    folder = tmp_path / "data"
    restored = tollgate(tmp_path, "restore", str(file), "--data-dir", str(folder))
    assert restored.returncode == 0, restored.stderr
    assert restored.stderr.count("(not part of a backup)") == len(strange)
    assert not (folder / "config.yml").exists()
    assert not list(folder.glob("before-restore-*"))


@needs(ROOT_USER)
def test_what_cannot_be_moved_leaves_all_where_it_was(used: Path, tmp_path: Path):
    """A folder of the data folder may be a volume of its own."""
    file = tmp_path / "copy.tar.gz"
    assert tollgate(used, "backup", str(file)).returncode == 0
    program = [sys.executable, "-m", "app.cli", "restore", str(file), "--replace"]
    before = names_in(used)
    done = subprocess.run(
        [
            "unshare",
            "--mount",
            "sh",
            "-c",
            f'mount --bind "$0" "$0" && exec {shlex.join(program)}',
            str(used / "workspace"),
        ],
        capture_output=True,
        encoding="utf-8",
        check=False,
        env=environment(used),
        cwd=used,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert "nothing was changed" in done.stderr
    assert names_in(used) == before
    assert (used / "workspace" / "notes.txt").read_text(encoding="utf-8") == "one"
    assert tollgate(used, "audit", "--verify").returncode == 0


def test_a_backup_is_not_written_where_it_would_copy_itself(used: Path):
    for name in ("copy.tar.gz", "workspace/copy.tar.gz"):
        refused = tollgate(used, "backup", name)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert "outside it" in refused.stderr
        assert not (used / name).exists()


def test_a_disk_that_knows_no_second_names_takes_a_backup(
    used: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """As FAT refuses them; that cannot be mounted everywhere."""

    def refuse(*_: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    place = InstallationFolder(load_settings(data_dir=used))
    file = tmp_path / "copy.tar.gz"
    assert back_up(place, file, with_keys=False) == 0
    with tarfile.open(file) as tar:
        assert "tollgate.db" in tar.getnames()
    assert file.stat().st_mode & 0o777 == 0o600
    taken = tmp_path / "taken"
    taken.touch()
    with pytest.raises(InvalidInput, match="already exists"):
        back_up(place, taken, with_keys=False)
    assert [path.name for path in tmp_path.glob(".*")] == []


def test_a_cut_file_and_one_that_is_none_change_nothing(used: Path, tmp_path: Path):
    file = tmp_path / "copy.tar.gz"
    assert tollgate(used, "backup", str(file)).returncode == 0
    cut = tmp_path / "cut.tar.gz"
    cut.write_bytes(file.read_bytes()[:-2000])
    text = tmp_path / "text"
    text.write_text("no archive", encoding="ascii")
    for wrong in (cut, text, tmp_path / "missing"):
        refused = tollgate(used, "restore", str(wrong), "--replace")
        assert refused.returncode in (1, 2)
        assert (refused.stdout, refused.stderr.count("\n")) == ("", 1)
    assert list(used.glob("before-restore-*")) == []


def test_a_backup_of_a_newer_version_is_one_sentence(used: Path, tmp_path: Path):
    database = tmp_path / "newer.db"
    new_database(database)
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    file = packed(tmp_path / "copy.tar.gz", MANIFEST, ("tollgate.db", database.read_bytes()))
    refused = tollgate(used, "restore", str(file), "--replace")
    assert refused.returncode == 2
    assert "newer version" in refused.stderr
    assert list(used.glob("before-restore-*")) == []


def test_nothing_of_an_archive_leaves_the_folder(tmp_path: Path):
    database = tmp_path / "some.db"
    new_database(database)
    file = packed(
        tmp_path / "copy.tar.gz",
        MANIFEST,
        ("tollgate.db", database.read_bytes()),
        ("../outside.txt", b"x"),
        link="/etc",
    )
    folder = tmp_path / "data"
    restored = tollgate(tmp_path, "restore", str(file), "--data-dir", str(folder))
    assert restored.returncode == 0, restored.stderr
    assert restored.stderr.count("skipped") == 2
    assert not (tmp_path / "outside.txt").exists()
    assert not (folder / "workspace").is_symlink()
