"""The hook that puts the browser interface into a wheel: it builds, is told not to, or says why."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from tests.support.source import ROOT


@pytest.fixture
def hook(tmp_path: Path):
    """The hook over a tree whose build program does what a test writes into it."""
    place = ROOT / "web" / "hatch_build.py"
    spec = importlib.util.spec_from_file_location("hatch_build", place)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    (tmp_path / "web").mkdir()
    return module.WebBuildHook(str(tmp_path), {}, None, None, str(tmp_path / "dist"), "wheel")


def program(folder: Path, text: str) -> None:
    """Put a build program into the tree."""
    (folder / "web" / "webbuild.py").write_text(text, encoding="utf-8")


def test_a_wheel_has_its_pages_built(hook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("TOLLGATE_WEB", raising=False)
    program(tmp_path, f"open({str(tmp_path / 'built')!r}, 'w').close()")

    hook.initialize("standard", {})

    assert (tmp_path / "built").is_file()


def test_a_wheel_without_its_pages_is_refused_with_what_to_do(
    hook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("TOLLGATE_WEB", raising=False)
    program(tmp_path, "raise SystemExit(1)")

    with pytest.raises(RuntimeError, match=r"could not be built .* TOLLGATE_WEB=skip"):
        hook.initialize("standard", {})


@pytest.mark.parametrize(("version", "chosen"), [("editable", ""), ("standard", "skip")])
def test_in_place_and_on_request_nothing_is_built(
    hook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, chosen: str
):
    monkeypatch.setenv("TOLLGATE_WEB", chosen)
    program(tmp_path, f"open({str(tmp_path / 'built')!r}, 'w').close()")

    hook.initialize(version, {})

    assert not (tmp_path / "built").exists()
