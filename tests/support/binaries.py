"""Parts of the machine that some tests need: real programs, rights, a kernel."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NoReturn

import pytest

from scripts.parts import PARTS, Part, find_program

NEEDS = "needs "  # how the reason of such a skip begins


def in_ci() -> bool:
    """Tell whether a missing part is a failure: CI=true, or TOLLGATE_CI=1."""
    return os.environ.get("CI") == "true" or os.environ.get("TOLLGATE_CI") == "1"


def needs(part: Part) -> pytest.MarkDecorator:
    """Mark tests that need a part; `tests/conftest.py` asks `require_part` before each."""
    return pytest.mark.needs(part)


def require_part(part: Part) -> None:
    """Return when a part is here; otherwise skip the test at a desk and fail it in CI."""
    if not part.is_here():
        lacks(part)


def lacks(part: Part) -> NoReturn:
    """End a test for which a part is missing."""
    message = f"{NEEDS}{part.name}"
    if in_ci() and part.required:
        pytest.fail(f"{message}; `{part.provide}` provides it", pytrace=False)
    pytest.skip(message)


def require_binary(name: str) -> Path:
    """Return where a program lies; without it, skip the test at a desk and fail it in CI."""
    found = find_program(name)
    if found is not None:
        return found
    lacks(next((part for part in PARTS if name in part.programs), Part(name, f"install {name}")))
