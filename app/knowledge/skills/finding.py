"""Finding every skill of a project, of the installation and of the service. Blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from app.knowledge.skills.document import Document, read_document
from app.knowledge.skills.folder import (
    DOCUMENT,
    Contents,
    Listing,
    TooMuch,
    list_folder,
    read_files,
)
from app.knowledge.skills.places import Place, names_in, opened_place, opened_skill
from app.tools.skills.ports import SkillProblem

MAX_PLACE_BYTES = 256 << 20
"Maximum total size of the skills in one folder, which are all read on each lookup."
_MAX_KNOWN = 2000


@dataclass(frozen=True, slots=True)
class Found:
    """One skill where it lies.

    Attributes:
        contents: its files; None where only a list is wanted, or it cannot be read.
    """

    place: Place
    name: str
    document: Document
    digest: str | None = None
    left_out: tuple[str, ...] = ()
    contents: Contents | None = field(default=None, compare=False)

    @property
    def id(self) -> str:
        return f"{self.place.prefix}{self.name}"


class Finder:
    """Remembers what it has read; what has changed on disk is read again.

    Args:
        hidden: real paths of the service's own folders, which no project reaches into.
    """

    def __init__(self, hidden: Sequence[str] = ()) -> None:
        self._hidden = tuple(hidden)
        self._known: dict[str, tuple[object, Found]] = {}

    def find(self, places: Sequence[Place], *, fresh: str | None = None) -> list[Found]:
        """All skills of these places, those of the first place first.

        Args:
            fresh: skills of this name are read again in any case, with their files.
        """
        return [found for place in places for found in self._in(place, fresh)]

    def _in(self, place: Place, fresh: str | None) -> list[Found]:
        hidden = self._hidden if place.origin == "project" else ()
        with opened_place(place, hidden) as folder:
            if folder is None:
                return []
            try:
                names = names_in(folder)
            except OSError:  # it may not be listed
                return []
            room = [MAX_PLACE_BYTES]
            return [self._look(place, folder, name, room, fresh=fresh) for name in names]

    def _look(
        self, place: Place, folder: int, name: str, room: list[int], *, fresh: str | None
    ) -> Found:
        try:
            with opened_skill(folder, name) as inside:
                listing = list_folder(inside)
                _take(room, listing)
                if name == fresh:
                    return self._read(place, name, inside, listing)
                return self._remembered(place, name, inside, listing)
        except TooMuch as error:
            return _unusable(place, name, "skill_too_large", str(error))
        except OSError as error:
            why = error.strerror or type(error).__name__
            told = f"its folder is a link or cannot be read ({why})"
            return _unusable(place, name, "skill_unreadable", told)

    def _remembered(self, place: Place, name: str, inside: int, listing: Listing) -> Found:
        key, seen = f"{place.root}:{place.prefix}{name}:{place.inner}", listing.fingerprint
        known = self._known.get(key)
        if known is not None and known[0] == seen:
            return known[1]
        found = replace(self._read(place, name, inside, listing), contents=None)
        if len(self._known) >= _MAX_KNOWN:
            self._known.clear()
        self._known[key] = (seen, found)
        return found

    def _read(self, place: Place, name: str, inside: int, listing: Listing) -> Found:
        contents = read_files(inside, listing)
        file = contents.files.get(DOCUMENT)
        if file is None:
            told = f"it contains no regular file {DOCUMENT}"
            return _unusable(place, name, "skill_no_document", told)
        document = read_document(file.data, name)
        return Found(place, name, document, contents.digest, listing.left_out, contents)


def _take(room: list[int], listing: Listing) -> None:
    """Raises TooMuch when the skills of one folder are larger than what is left for them."""
    if listing.size > room[0]:
        raise TooMuch(f"it and the skills before it exceed {MAX_PLACE_BYTES} bytes")
    room[0] -= listing.size


def _unusable(place: Place, name: str, code: str, why: str) -> Found:
    return Found(place, name, Document(errors=(SkillProblem(code, why),)))
