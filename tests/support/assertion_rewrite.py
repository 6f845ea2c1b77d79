"""Compile the sources and rewrite the test files before many processes import them.

In a fresh clone, each process would otherwise compile and rewrite all files for itself, which took
a tenth of a run.
"""

from __future__ import annotations

import compileall
import os
import sys
from pathlib import Path

import pytest
from _pytest.assertion.rewrite import (
    PYC_TAIL,
    _rewrite_test,
    _write_pyc,
    assertstate_key,
    get_cache_dir,
)

FEW = 50


def compile_all(*folders: Path) -> None:
    """Compile new modules, on all processors."""
    if not sys.dont_write_bytecode:
        for folder in folders:
            compileall.compile_dir(folder, quiet=2, workers=0)


def rewrite_all(config: pytest.Config, folder: Path) -> int:
    """Rewrite new files, on all processors; return their number."""
    if sys.dont_write_bytecode:
        return 0
    names = ("test_*.py", "conftest.py")
    files = [path for name in names for path in sorted(folder.rglob(name))]
    fresh = [path for path in files if not _kept(path).exists()]
    if len(fresh) < FEW:
        return 0
    share = os.cpu_count() or 1
    for pid in [_forked(config, fresh[number::share]) for number in range(share)]:
        os.waitpid(pid, 0)
    return len(fresh)


def _forked(config: pytest.Config, files: list[Path]) -> int:
    pid = os.fork()
    if pid == 0:
        try:
            for path in files:
                _rewrite(config, path)
        finally:  # the importing processes rewrite the remaining files
            os._exit(0)
    return pid


def _rewrite(config: pytest.Config, path: Path) -> None:
    kept = _kept(path)
    kept.parent.mkdir(exist_ok=True)
    source, code = _rewrite_test(path, config)
    _write_pyc(config.stash[assertstate_key], code, source, kept)


def _kept(path: Path) -> Path:
    """Return the cache location used by imports of the file."""
    return get_cache_dir(path) / f"{path.stem}{PYC_TAIL}"
