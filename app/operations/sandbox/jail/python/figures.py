"""Plots that code left open, saved as images."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

MAX_FIGURES = 20


def save_figures() -> list[str]:
    """Save what matplotlib still has open into the working folder; the file names."""
    plots: Any = sys.modules.get("matplotlib.pyplot")
    if plots is None:
        return []
    saved = []
    for number in list(plots.get_fignums())[:MAX_FIGURES]:
        name = _free_name(number)
        plots.figure(number).savefig(name)
        saved.append(name)
    return saved


def _free_name(number: int) -> str:
    """`figure_1.png`, or a name like it where the code has used that one."""
    name, tries = f"figure_{number}.png", 1
    while Path(name).exists():
        tries += 1
        name = f"figure_{number}_{tries}.png"
    return name
