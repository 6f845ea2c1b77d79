"""Where programs lie that come with this installation."""

from __future__ import annotations

import os
import sysconfig
from functools import cache
from pathlib import Path


@cache
def own_program(name: str) -> str:
    """The absolute path of a program that was installed beside ours; else `name` as it is.

    A bare name is then looked up where the machine keeps its programs.
    """
    path = Path(sysconfig.get_path("scripts")) / name
    return str(path) if os.access(path, os.X_OK) else name
