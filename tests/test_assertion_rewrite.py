"""Test files are rewritten once, where whoever imports them looks for them."""

from pathlib import Path

import pytest

from tests.support.assertion_rewrite import FEW, compile_all, rewrite_all


@pytest.fixture(autouse=True)
def bytecode_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.dont_write_bytecode", False)


def test_what_was_never_rewritten_is_rewritten_once(
    tmp_path: Path, request: pytest.FixtureRequest, capfd: pytest.CaptureFixture[str]
):
    for number in range(FEW):
        (tmp_path / f"test_{number}.py").write_text("def test_it():\n    assert 1 + 1 == 3\n")
    assert rewrite_all(request.config, tmp_path) == FEW
    kept = sorted((tmp_path / "__pycache__").glob("*-pytest-*.pyc"))
    assert len(kept) == FEW
    assert all(b"@pytest_ar" in path.read_bytes() for path in kept)
    assert rewrite_all(request.config, tmp_path) == 0
    assert capfd.readouterr() == ("", "")


def test_a_file_that_is_no_python_stays_as_it_is(tmp_path: Path, request: pytest.FixtureRequest):
    for number in range(FEW):
        (tmp_path / f"test_{number}.py").write_text("def\n")
    assert rewrite_all(request.config, tmp_path) == FEW
    assert not list(tmp_path.glob("__pycache__/*.pyc"))


def test_a_few_files_are_left_to_those_who_import_them(
    tmp_path: Path, request: pytest.FixtureRequest
):
    (tmp_path / "test_one.py").write_text("")
    assert rewrite_all(request.config, tmp_path) == 0


def test_new_modules_are_compiled_once(tmp_path: Path):
    (tmp_path / "module.py").write_text("x = 1\n", encoding="utf-8")
    compile_all(tmp_path)
    (compiled,) = tmp_path.glob("__pycache__/module.*.pyc")
    first = compiled.stat().st_mtime_ns
    compile_all(tmp_path)
    assert compiled.stat().st_mtime_ns == first
