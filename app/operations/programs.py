"""Location of programs included in this installation."""

from __future__ import annotations

import os
import sysconfig
from functools import cache
from pathlib import Path


@cache
def own_program(name: str) -> str:
    """Return the absolute path of a program installed next to ours; otherwise `name`.

    A bare name is then searched on the machine's path.
    """
    path = Path(sysconfig.get_path("scripts")) / name
    return str(path) if os.access(path, os.X_OK) else name
