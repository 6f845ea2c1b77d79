"""Looking for processes that should be gone."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path


def runs(pid: int) -> bool:
    """Whether it runs; what is dead and not yet buried does not."""
    with suppress(OSError):
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(") ")[2]
        return not state.startswith("Z")
    return False


def below(folder: Path) -> list[int]:
    """Processes that work in `folder` or below."""
    found = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if entry.name.isdigit() and (entry / "cwd").readlink().is_relative_to(folder):
                found.append(int(entry.name))
    return found
