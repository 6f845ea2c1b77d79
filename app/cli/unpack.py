"""Safe unpacking of a backup: folders, files and links, only inside one new folder.

Only parts of a backup are unpacked. `tarfile` has its own filter since Python 3.11.4; this one
works on every version, and writes no file through a link: links are created last.
"""

from __future__ import annotations

import os
import shutil
import tarfile
from collections.abc import Collection, Iterator
from pathlib import Path, PurePosixPath


class Unpacking:
    """Unpacks the members of an archive into an empty, private folder.

    Args:
        parts: First path components to unpack; everything else is skipped.

    Attributes:
        left_out: Names of skipped members, with the reason.
    """

    def __init__(self, tar: tarfile.TarFile, folder: Path, parts: Collection[str]) -> None:
        self.left_out: list[tuple[str, str]] = []
        self._tar = tar
        self._folder = folder
        self._parts = parts
        self._links: dict[Path, str] = {}

    def take(self, member: tarfile.TarInfo) -> None:
        """Unpack one member, or record why it is skipped.

        Raises:
            OSError: The folder is not writable.
            tarfile.TarError: The archive is damaged.
        """
        place = self._place_of(member.name)
        if place is None:
            self.left_out.append((member.name, "outside the folder"))
        elif place.relative_to(self._folder).parts[0] not in self._parts:
            self.left_out.append((member.name, "not part of a backup"))
        elif not (member.isdir() or member.isreg() or member.issym()):
            self.left_out.append((member.name, "not a file, folder or link"))
        elif place in self._links or any(parent in self._links for parent in place.parents):
            self.left_out.append((member.name, "a link has the same name"))
        elif member.issym():
            self._links[place] = member.linkname
        else:
            self._write(member, place)

    def finish(self) -> None:
        """Create the links; skip those that point outside the folder.

        Raises:
            OSError: The folder is not writable.
        """
        for place, target in self._links.items():
            if os.path.lexists(place):
                self.left_out.append((self._name_of(place), "a file has the same name"))
                continue
            place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            place.symlink_to(target)
        for place in self._leading_out():
            place.unlink()
            self.left_out.append((self._name_of(place), "points outside the folder"))

    def _place_of(self, name: str) -> Path | None:
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or not path.parts or "\0" in name:
            return None
        return self._folder / path

    def _name_of(self, place: Path) -> str:
        return str(place.relative_to(self._folder))

    def _write(self, member: tarfile.TarInfo, place: Path) -> None:
        if member.isdir():
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
            return
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        content = self._tar.extractfile(member)
        if content is None:
            raise tarfile.ReadError(f"{member.name} has no content")
        # Never through existing entries: a duplicate name is replaced.
        place.unlink(missing_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        descriptor = os.open(place, flags, 0o600 | (member.mode & 0o100))
        with content, os.fdopen(descriptor, "wb") as file:
            shutil.copyfileobj(content, file, 1 << 20)
        os.utime(place, (member.mtime, member.mtime))

    def _leading_out(self) -> Iterator[Path]:
        root = self._folder.resolve()
        for place in self._links:
            target = Path(os.path.realpath(place))
            if place.is_symlink() and not target.is_relative_to(root):
                yield place
