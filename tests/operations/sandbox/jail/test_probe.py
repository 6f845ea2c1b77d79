"""What the probe finds out about the user that programs are to run as."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from app.operations.sandbox.jail.probe import probe
from scripts.parts import ROOT_USER
from tests.support.binaries import needs
from tests.support.places import open_to_others

pytestmark = needs(ROOT_USER)  # only root can become another user


@pytest.mark.parametrize(("mode", "readable"), [(0o755, True), (0o700, False)])
def test_a_python_that_the_separate_user_cannot_read_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, mode: int, readable: bool
):
    open_to_others(tmp_path)
    library = tmp_path / "python"
    library.mkdir(mode=mode)
    monkeypatch.setattr(os, "__file__", str(library / "os.py"))

    found = probe(65534)

    missing = found["missing"]
    assert isinstance(missing, dict)
    assert ("python" not in missing) is readable
    assert "uid-drop" not in missing
