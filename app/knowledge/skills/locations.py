"""Locations of skills, and lookup in them. Everything blocks."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from app.core.errors import ConfigurationError, ToolFailed
from app.domain.skills import Origin
from app.operations.local.beneath import Beneath

BUILTIN = Path(__file__).parent / "builtin"
MAX_SKILLS = 200
_MAX_NAME = 255
_SKILL = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class SkillLocation:
    """A folder of skills.

    Attributes:
        root: root that its paths must stay in.
        inner: the folder of skills, relative to the root.
        prefix: prefix of its skills' IDs, before the name.
        label: label for people.
    """

    origin: Origin
    root: Path
    inner: str
    prefix: str
    label: str


@contextmanager
def opened_place(place: SkillLocation, hidden: Sequence[str] = ()) -> Iterator[int | None]:
    """Open the folder of skills for listing; None if it does not exist.

    Links to it are followed inside the root.
    """
    try:
        beneath = Beneath(place.root, hidden=hidden)
    except ConfigurationError:
        yield None
        return
    try:
        with beneath.folder(place.inner) as folder:
            yield folder
    except ToolFailed:  # missing, or outside
        yield None
    finally:
        beneath.close()


def names_in(folder: int) -> list[str]:
    """Return the names of folders, and of links in their place, up to `MAX_SKILLS`."""
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
    """Open a skill's folder, which must not be a link.

    Raises:
        OSError: it is a link, not a folder, or missing.
    """
    descriptor = os.open(name, _SKILL, dir_fd=folder)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
