"""Passwords are sealed for one row and one field, with keys that only their owner may read."""

from __future__ import annotations

from base64 import b64encode
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pydantic import SecretStr

from app.core.errors import ConfigurationError
from app.knowledge.sources.encryption import KeyFile, KeyRing, keys_of_setting, name_of

KEY, OTHER = b"k" * 32, b"o" * 32


def ring(*keys: bytes) -> KeyRing:
    return KeyRing(lambda: keys)


def test_what_was_sealed_opens_and_looks_different_each_time():
    keys = ring(KEY)
    first, second = (keys.seal("geheim ✓", row="src_1", field="password") for _ in range(2))
    assert keys.open(first, row="src_1", field="password") == "geheim ✓"
    assert first != second
    assert "geheim" not in first


@pytest.mark.parametrize(
    ("row", "field"), [("src_2", "password"), ("src_1", "user"), ("src_1\0password", "")]
)
def test_it_opens_for_its_own_row_and_field_only(row: str, field: str):
    sealed = ring(KEY).seal("geheim", row="src_1", field="password")
    with pytest.raises(ConfigurationError, match="decrypt"):
        ring(KEY).open(sealed, row=row, field=field)


@pytest.mark.parametrize("damage", [str.swapcase, lambda text: text[:-6], lambda _: "v1.zz.?"])
def test_what_was_changed_does_not_open(damage):
    sealed = ring(KEY).seal("geheim", row="src_1", field="password")
    head, _, body = sealed.rpartition(".")
    with pytest.raises(ConfigurationError, match=r"decrypt|damaged"):
        ring(KEY).open(f"{head}.{damage(body)}", row="src_1", field="password")


def test_a_missing_key_is_named_with_the_way_out():
    sealed = ring(KEY).seal("geheim", row="src_1", field="password")
    with pytest.raises(ConfigurationError) as caught:
        ring(OTHER).open(sealed, row="src_1", field="password")
    assert name_of(KEY) in caught.value.message
    assert "TOLLGATE_SOURCES__KEYS" in caught.value.message
    assert ring(OTHER, KEY).open(sealed, row="src_1", field="password") == "geheim"


def test_the_key_file_is_made_at_its_first_use_for_its_owner_only(tmp_path: Path):
    path = tmp_path / "keys" / "sources.key"
    keys = KeyFile(path).read()
    assert [len(key) for key in keys] == [32]
    assert KeyFile(path).read() == keys
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert [entry.name for entry in path.parent.iterdir()] == ["sources.key"]


def test_a_key_file_that_others_may_read_is_refused(tmp_path: Path):
    path = tmp_path / "sources.key"
    KeyFile(path).read()
    path.chmod(0o640)
    with pytest.raises(ConfigurationError, match="chmod 600"):
        KeyFile(path).read()


@pytest.mark.parametrize("text", ["", "short", b64encode(b"x" * 16).decode(), "é" * 44])
def test_what_is_no_key_is_refused(tmp_path: Path, text: str):
    path = tmp_path / "sources.key"
    path.write_text(text, encoding="utf-8")
    path.chmod(0o600)
    with pytest.raises(ConfigurationError):
        KeyFile(path).read()
    with pytest.raises(ConfigurationError, match="openssl rand"):
        keys_of_setting(SecretStr(text))


def test_a_new_key_seals_and_the_old_one_opens_until_it_is_retired(tmp_path: Path):
    file = KeyFile(tmp_path / "sources.key")
    keys = KeyRing(file.read)
    old = keys.seal("geheim", row="src_1", field="password")
    added = file.add()
    new = keys.seal("geheim", row="src_1", field="password")
    assert old.split(".")[1] != new.split(".")[1]
    assert keys.open(old, row="src_1", field="password") == "geheim"
    file.retire(added)
    fresh = KeyRing(file.read)
    assert fresh.open(new, row="src_1", field="password") == "geheim"
    with pytest.raises(ConfigurationError, match="not among"):
        fresh.open(old, row="src_1", field="password")


def test_a_ring_finds_a_key_that_another_process_has_made(tmp_path: Path):
    file = KeyFile(tmp_path / "sources.key")
    mine = KeyRing(file.read)
    mine.seal("geheim", row="src_1", field="password")
    file.add()
    theirs = KeyRing(file.read).seal("geheim", row="src_1", field="password")
    assert mine.open(theirs, row="src_1", field="password") == "geheim"


def test_rotations_at_the_same_time_keep_every_key_that_seals(tmp_path: Path):
    file = KeyFile(tmp_path / "sources.key")
    file.read()
    with ThreadPoolExecutor(8) as pool:
        added = list(pool.map(lambda _: file.add(), range(40)))
    assert set(added) <= set(file.read())


def test_a_rotation_forgets_no_key_that_another_one_has_added_since(tmp_path: Path):
    file = KeyFile(tmp_path / "sources.key")
    [oldest] = file.read()
    first, second = file.add(), file.add()
    file.retire(first)
    assert file.read() == [second, first]
    assert oldest not in file.read()
    file.retire(second)
    file.retire(first)
    assert file.read() == [second]
