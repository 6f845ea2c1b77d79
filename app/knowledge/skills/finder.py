"""Search for the skills of a project, the installation and the service. Blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from app.domain.skills import SkillProblem
from app.knowledge.skills.document import SkillDocument, read_document
from app.knowledge.skills.folder import (
    DOCUMENT,
    Contents,
    Listing,
    TooMuch,
    list_folder,
    read_files,
)
from app.knowledge.skills.locations import SkillLocation, names_in, opened_place, opened_skill

MAX_PLACE_BYTES = 256 << 20
"""Maximum total size of the skills in one folder, which are all read on each lookup."""
_MAX_KNOWN = 2000


@dataclass(frozen=True, slots=True)
class FoundSkill:
    """Skill found in a location.

    Attributes:
        contents: its files; None if only listed or unreadable.
    """

    place: SkillLocation
    name: str
    document: SkillDocument
    digest: str | None = None
    left_out: tuple[str, ...] = ()
    contents: Contents | None = field(default=None, compare=False)

    @property
    def id(self) -> str:
        return f"{self.place.prefix}{self.name}"


class Finder:
    """Finder with a cache; changes on disk are read again.

    Args:
        hidden: real paths of the service's own folders, excluded for projects.
    """

    def __init__(self, hidden: Sequence[str] = ()) -> None:
        self._hidden = tuple(hidden)
        self._known: dict[str, tuple[object, FoundSkill]] = {}

    def find(
        self, places: Sequence[SkillLocation], *, fresh: str | None = None
    ) -> list[FoundSkill]:
        """Return all skills of the locations, in order.

        Args:
            fresh: name of a skill to read again in any case, with its files.
        """
        return [found for place in places for found in self._in(place, fresh)]

    def _in(self, place: SkillLocation, fresh: str | None) -> list[FoundSkill]:
        hidden = self._hidden if place.origin == "project" else ()
        with opened_place(place, hidden) as folder:
            if folder is None:
                return []
            try:
                names = names_in(folder)
            except OSError:  # it may be unreadable
                return []
            room = [MAX_PLACE_BYTES]
            return [self._look(place, folder, name, room, fresh=fresh) for name in names]

    def _look(
        self, place: SkillLocation, folder: int, name: str, room: list[int], *, fresh: str | None
    ) -> FoundSkill:
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
            message = f"its folder is a link or cannot be read ({why})"
            return _unusable(place, name, "skill_unreadable", message)

    def _remembered(
        self, place: SkillLocation, name: str, inside: int, listing: Listing
    ) -> FoundSkill:
        key, seen = f"{place.root}:{place.prefix}{name}:{place.inner}", listing.fingerprint
        known = self._known.get(key)
        if known is not None and known[0] == seen:
            return known[1]
        found = replace(self._read(place, name, inside, listing), contents=None)
        if len(self._known) >= _MAX_KNOWN:
            self._known.clear()
        self._known[key] = (seen, found)
        return found

    def _read(self, place: SkillLocation, name: str, inside: int, listing: Listing) -> FoundSkill:
        contents = read_files(inside, listing)
        file = contents.files.get(DOCUMENT)
        if file is None:
            message = f"it contains no regular file {DOCUMENT}"
            return _unusable(place, name, "skill_no_document", message)
        document = read_document(file.data, name)
        return FoundSkill(place, name, document, contents.digest, listing.left_out, contents)


def _take(room: list[int], listing: Listing) -> None:
    """Count a skill's size; raises TooMuch if a folder's total exceeds the limit."""
    if listing.size > room[0]:
        raise TooMuch(f"it and the skills before it exceed {MAX_PLACE_BYTES} bytes")
    room[0] -= listing.size


def _unusable(place: SkillLocation, name: str, code: str, why: str) -> FoundSkill:
    return FoundSkill(place, name, SkillDocument(errors=(SkillProblem(code, why),)))
