"""Search for the skills of a project, the installation and the service. Blocks."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
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
_MAX_SEARCHES = 500
# A change within one tick of a file system's clock may leave all times as they were.
_TICK_NS = 1_000_000_000
_State = tuple[int, ...]


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


@dataclass(frozen=True, slots=True)
class _LastSearch:
    """Result of a search, with the state of every folder and file that it depends on."""

    found: list[FoundSkill]
    states: tuple[tuple[str, _State | None], ...]

    @classmethod
    def of(cls, found: list[FoundSkill], paths: Iterable[str], began_ns: int) -> _LastSearch | None:
        """Return it if every later change shows in a state; None if times are too recent, or if
        a skill could not be read to its end.
        """
        if any(skill.digest is None for skill in found):
            return None
        states = tuple((path, _state(path)) for path in paths)
        newest = max((max(state[-2:]) for _, state in states if state is not None), default=0)
        return cls(found, states) if newest < began_ns - _TICK_NS else None

    def holds(self) -> bool:
        return all(_state(path) == state for path, state in self.states)


def _state(path: str) -> _State | None:
    try:
        s = os.stat(path)  # noqa: PTH116 - a Path costs more than the call
    except OSError:
        return None
    return (s.st_dev, s.st_ino, s.st_mode, s.st_size, s.st_mtime_ns, s.st_ctime_ns)


class Finder:
    """Finder with a cache; changes on disk are read again.

    Models get the list with each request. While no state has changed, a search opens nothing.

    Args:
        hidden: real paths of the service's own folders, excluded for projects.
    """

    def __init__(self, hidden: Sequence[str] = ()) -> None:
        self._hidden = tuple(hidden)
        self._known: dict[str, tuple[object, FoundSkill]] = {}
        self._searches: dict[tuple[SkillLocation, ...], _LastSearch] = {}

    def find(
        self, places: Sequence[SkillLocation], *, fresh: str | None = None
    ) -> list[FoundSkill]:
        """Return all skills of the locations, in order.

        Args:
            fresh: name of a skill to read again in any case, with its files.
        """
        key = tuple(places)
        last = self._searches.get(key) if fresh is None else None
        if last is not None and last.holds():
            return last.found
        began, paths = time.time_ns(), list[str]()
        found = [found for place in places for found in self._in(place, fresh, paths)]
        if len(self._searches) >= _MAX_SEARCHES:
            self._searches.clear()
        if search := _LastSearch.of(found, paths, began):
            self._searches[key] = search
        return found

    def _in(self, place: SkillLocation, fresh: str | None, paths: list[str]) -> list[FoundSkill]:
        """Return the skills of a location; `paths` gets what they depend on."""
        paths.append(top := f"{place.root}/{place.inner}")
        hidden = self._hidden if place.origin == "project" else ()
        with opened_place(place, hidden) as folder:
            if folder is None:
                return []
            try:
                names = names_in(folder)
            except OSError:  # it may be unreadable
                return []
            room = [MAX_PLACE_BYTES]
            found = []
            for name in names:
                inner = [""]
                found.append(self._look(place, folder, name, room, inner, fresh=fresh))
                paths += (f"{top}/{name}/{path}" for path in inner)
            return found

    def _look(
        self,
        place: SkillLocation,
        folder: int,
        name: str,
        room: list[int],
        inner: list[str],
        *,
        fresh: str | None,
    ) -> FoundSkill:
        """Return one skill; `inner` gets the paths of its folders and files."""
        try:
            with opened_skill(folder, name) as inside:
                listing = list_folder(inside)
                inner += listing.folders
                inner += (path for path, _ in listing.files)
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
