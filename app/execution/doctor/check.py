"""One finding of `tollgate doctor`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "info", "warning", "broken"]


@dataclass(frozen=True, slots=True)
class Check:
    """One finding. `broken` means that the service cannot work as it is."""

    name: str
    state: State
    found: str
    meaning: str = ""
    fix: str = ""
