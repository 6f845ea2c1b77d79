"""Plots left open by code, saved as images."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

MAX_FIGURES = 20


def save_figures() -> list[str]:
    """Save matplotlib's open figures into the working folder; return the file names."""
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
    """Return `figure_1.png`, or a similar name if the code has used it."""
    name, tries = f"figure_{number}.png", 1
    while Path(name).exists():
        tries += 1
        name = f"figure_{number}_{tries}.png"
    return name
