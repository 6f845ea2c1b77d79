"""Where skills lie, and finding them there. All blocking."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from app.core.errors import ConfigurationError, ToolFailed
from app.operations.local.beneath import Beneath
from app.tools.skills.ports import Origin

BUILTIN = Path(__file__).parent / "builtin"
MAX_SKILLS = 200
_MAX_NAME = 255
_SKILL = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class SkillLocation:
    """A folder of skills.

    Attributes:
        root: what its paths must stay in.
        inner: the folder of skills, relative to the root.
        prefix: what ids of its skills begin with, up to the name.
        label: how people know it.
    """

    origin: Origin
    root: Path
    inner: str
    prefix: str
    label: str


@contextmanager
def opened_place(place: SkillLocation, hidden: Sequence[str] = ()) -> Iterator[int | None]:
    """The folder of skills, open for listing; None where there is none.

    Links may lead to it as long as they stay in the root.
    """
    try:
        beneath = Beneath(place.root, hidden=hidden)
    except ConfigurationError:
        yield None
        return
    try:
        with beneath.folder(place.inner) as folder:
            yield folder
    except ToolFailed:  # nothing is there, or it leads outside
        yield None
    finally:
        beneath.close()


def names_in(folder: int) -> list[str]:
    """Names of the folders in it, and of links in their place, the first `MAX_SKILLS`."""
    with os.scandir(folder) as entries:
        names = [
            entry.name
            for entry in entries
            if entry.name.isprintable()
            and len(entry.name) <= _MAX_NAME
            and (entry.is_dir(follow_symlinks=False) or entry.is_symlink())
        ]
    return sorted(name for name in names if not name.startswith("."))[:MAX_SKILLS]


@contextmanager
def opened_skill(folder: int, name: str) -> Iterator[int]:
    """One skill's folder, which is no link.

    Raises:
        OSError: it is a link, no folder, or gone.
    """
    descriptor = os.open(name, _SKILL, dir_fd=folder)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
