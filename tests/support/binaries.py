"""Parts of the machine required by some tests: programs, rights, a kernel."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NoReturn

import pytest

from scripts.parts import PARTS, Part, find_program

NEEDS = "needs "  # prefix of the reason of such a skip


def in_ci() -> bool:
    """Return whether a missing part is a failure: CI=true, or TOLLGATE_CI=1."""
    return os.environ.get("CI") == "true" or os.environ.get("TOLLGATE_CI") == "1"


def needs(part: Part) -> pytest.MarkDecorator:
    """Mark tests that need a part; `tests/conftest.py` calls `require_part` before each."""
    return pytest.mark.needs(part)


def require_part(part: Part) -> None:
    """Require a part; without it, skip the test locally and fail it in CI."""
    if not part.is_here():
        lacks(part)


def lacks(part: Part) -> NoReturn:
    """End a test with a missing part."""
    message = f"{NEEDS}{part.name}"
    if in_ci() and part.required:
        pytest.fail(f"{message}; `{part.provide}` provides it", pytrace=False)
    pytest.skip(message)


def require_binary(name: str) -> Path:
    """Return a program's path; without it, skip the test locally and fail it in CI."""
    found = find_program(name)
    if found is not None:
        return found
    lacks(next((part for part in PARTS if name in part.programs), Part(name, f"install {name}")))
