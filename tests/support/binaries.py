"""Programs that some tests start."""

import os
import shutil
from pathlib import Path

import pytest


def in_ci() -> bool:
    """Tell whether a missing program is a failure: CI=true, or TOLLGATE_CI=1."""
    return os.environ.get("CI") == "true" or os.environ.get("TOLLGATE_CI") == "1"


def require_binary(name: str) -> Path:
    """Return where a program lies; without it, skip the test at a desk and fail it in CI."""
    found = shutil.which(name)
    if found is not None:
        return Path(found)
    message = f"the program {name!r} is not installed"
    if in_ci():
        pytest.fail(message + "; .ci/run must install it", pytrace=False)
    pytest.skip(message)
