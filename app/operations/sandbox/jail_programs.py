"""Start of the programs of `jail`: a fresh process without data of the service."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import app

_ROOT = str(Path(app.__file__).resolve().parents[1])


def inside(module: str, *arguments: str) -> list[str]:
    """Return the command line of a program of `jail`: an isolated interpreter that finds only
    it.
    """
    code = (
        f"import sys; sys.path.insert(0, {_ROOT!r}); "
        f"from app.operations.sandbox.jail.{module} import main; main()"
    )
    flags = ("-I", "-S", "-X", "frozen_modules=on", "-c")
    return [sys.executable, *flags, code, *arguments]


def inside_environment() -> dict[str, str]:
    """Return the only part of the service's environment visible in `jail`: the time zone."""
    return {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "TZ": os.environ.get("TZ") or "UTC"}
