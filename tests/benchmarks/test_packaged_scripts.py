"""Which files of a machine count as shell scripts of a usual size."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.harness import Skipped
from benchmarks.risk import FEWEST_SCRIPTS, MAX_BYTES, packaged_scripts


def install(folder: Path, count: int) -> list[str]:
    """As many scripts, no two alike; their texts in the order of their names."""
    texts = [f"#!/bin/sh\necho {number:03}\n" for number in range(count)]
    for number, text in enumerate(texts):
        (folder / f"{number:03}.postinst").write_text(text, encoding="utf-8")
    return texts


def test_scripts_of_shells_are_found_once_and_no_other_file_is(tmp_path: Path):
    texts = install(tmp_path, FEWEST_SCRIPTS)
    (tmp_path / "again").write_text(texts[0], encoding="utf-8")
    (tmp_path / "bash").write_text("#!/usr/bin/env bash\n", encoding="utf-8")
    (tmp_path / "fish").write_text("#!/usr/bin/fish\n", encoding="utf-8")
    (tmp_path / "long").write_text("#!/bin/sh\n" + "a" * MAX_BYTES, encoding="utf-8")
    (tmp_path / "text").write_text("rm x\n", encoding="utf-8")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")

    assert packaged_scripts([str(tmp_path)]) == [*texts, "#!/usr/bin/env bash\n"]


def test_a_machine_with_few_scripts_is_reported(tmp_path: Path):
    install(tmp_path, FEWEST_SCRIPTS - 1)

    with pytest.raises(Skipped, match=f"only {FEWEST_SCRIPTS - 1} shell scripts"):
        packaged_scripts([str(tmp_path)])
