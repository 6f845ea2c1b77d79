"""Search for files that a command runs and that sessions wrote.

This happens while a call is evaluated, so the number of files inspected, the number read and their
size are bounded.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Literal

from app.policy.risk import kinds
from app.policy.risk.call import is_pattern
from app.policy.risk.given import HANDED_IN
from app.policy.risk.model import FileRun, Given

Known = Literal["named", "timed"]
"""How a written file was detected: by its name, or by its modification time."""
HowKnown = Callable[[str, float], Known | None]

MAX_GIVEN = 40
MAX_LOOKED_INTO = 120
MAX_LISTED = 3_000
MAX_DEPTH = 6
MAX_TEXT = 64 << 10
MAX_ALL_TEXT = 256 << 10
MAX_HASHED = 4 << 20
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_PACKAGES = frozenset(
    {"node_modules", "site-packages", "dist-packages", ".venv", "venv", ".tox", ".nox"}
)
"""Folders filled by package managers, whose files are ignored by modification time."""
_FOLLOWED = frozenset({kinds.PYTHON, kinds.NODE, "ruby", kinds.MAKEFILE})
_TESTS = ("test_*.py", "*_test.py", "conftest.py", "*.test.[cmjt]*", "*.spec.[cmjt]*")
_TEST_FOLDERS = frozenset({"test", "tests", "spec", "__tests__"})
_STANDARD = frozenset(sys.stdlib_module_names)


def look(root: str, runs: Sequence[FileRun], how_known: HowKnown) -> tuple[Given, ...]:
    """Return the files among `runs` that sessions wrote, and their imported modules that sessions
    wrote.
    """
    finding = _Finding(os.path.realpath(root), root, how_known)
    for how in runs:
        for path in finding.places(how):
            finding.take(path, how)
    return tuple(finding.given.values())


@dataclass(slots=True)
class _Finding:
    real_root: str
    root: str
    how_known: HowKnown
    given: dict[tuple[str, str], Given] = field(default_factory=dict)
    seen: set[tuple[str, str]] = field(default_factory=set)
    there: dict[str, bool] = field(default_factory=dict)
    looked_into: int = 0
    size: int = 0

    def places(self, how: FileRun) -> Iterator[str]:
        """Yield the paths that a run may refer to."""
        folder, _, name = how.path.rpartition("/")
        if not (how.path + "/").startswith(self.root.rstrip("/") + "/") or is_pattern(folder):
            return
        if is_pattern(name):
            for entry in _listed(folder)[:MAX_GIVEN]:
                if fnmatchcase(entry, name):
                    yield f"{folder}/{entry}"
        elif how.kind == kinds.TESTS:
            yield from self._tests(how.path)
        else:
            yield how.path

    def _tests(self, path: str) -> Iterator[str]:
        """Yield a file of tests, or all below a folder, with their configuration files."""
        folder = path if Path(path).is_dir() else path.rpartition("/")[0]
        upward = folder
        while len(upward) > len(self.root):
            upward = upward.rpartition("/")[0]
            yield f"{upward}/conftest.py"
        if folder != path:
            yield f"{folder}/conftest.py"
            yield path
            return
        left = MAX_LISTED
        for place, folders, files in os.walk(path):
            depth = place[len(path) :].count("/")
            folders[:] = [
                name
                for name in folders
                if name not in _PACKAGES and name[0] != "." and depth < MAX_DEPTH
            ]
            left -= len(files) + len(folders)
            among = place.rpartition("/")[2] in _TEST_FOLDERS
            for name in files:
                is_test = any(fnmatchcase(name, pattern) for pattern in _TESTS)
                if is_test or (among and kinds.language_by_name(name) == kinds.NODE):
                    yield f"{place}/{name}"
            if left <= 0:
                return

    def take(self, path: str, how: FileRun) -> None:
        """Add the file and its modules if a session wrote it."""
        if self._is_seen(path, how):
            return
        folder = path.rpartition("/")[0]
        if how.kind == kinds.PYTHON and path == how.path:
            self._standard_names(folder, how)
        found = self._stat(path)
        if found is None:
            return
        real, status = found
        known = self.how_known(real, status.st_ctime)
        if known == "timed" and not _PACKAGES.isdisjoint(real[len(self.real_root) :].split("/")):
            known = None
        text = self._hand_in(path, real, how, known) if known is not None else None
        language = how.kind
        if how.kind == kinds.PROGRAM and text is not None:
            language = kinds.language_of(path, text)
        elif how.kind != kinds.MAKEFILE and (
            path != how.path or how.kind in {kinds.PROGRAM, kinds.TESTS}
        ):
            language = kinds.language_by_name(path) or ""
        if language in _FOLLOWED:
            self._follow(path, real, status, language, how)

    def _is_seen(self, path: str, how: FileRun) -> bool:
        """Return whether the file was already analyzed for the command; it may also be data."""
        if (path, how.path) not in self.seen:
            self.seen.add((path, how.path))
            return False
        one = self.given.get((path, how.path))
        if one is not None and how.kind in HANDED_IN:
            self.given[path, how.path] = one._replace(is_data=True)
        return True

    def _stat(self, path: str) -> tuple[str, os.stat_result] | None:
        try:
            status = Path(path).stat()
            if not stat.S_ISREG(status.st_mode):
                return None
            real = os.path.realpath(path)
        except (OSError, ValueError):
            return None
        return (real, status) if real.startswith(self.real_root + "/") else None

    def _hand_in(self, path: str, real: str, how: FileRun, known: Known) -> str | None:
        """Record the content of the file; return its text if it can be evaluated."""
        if len(self.given) >= MAX_GIVEN:
            self._leave_out(path, real, how)
            return None
        content = _content(real)
        if content is None:
            return None
        text, digest, why = content
        if text is None and known == "timed" and why == _NO_TEXT:
            # The output of a compiler runs without evaluation of its content.
            return None
        self.size += len(text or "")
        if self.size > MAX_ALL_TEXT:
            text, why = None, _TOO_MANY
        self.given[path, how.path] = Given(
            path, how.path, text, digest, why, is_data=how.kind in HANDED_IN
        )
        return text

    def _leave_out(self, path: str, real: str, how: FileRun) -> None:
        """Report a named file above the limit; modules are dropped silently."""
        if path == how.path:
            status = Path(real).stat()
            marks = (status.st_size, status.st_mtime_ns, status.st_ctime_ns)
            digest = "-".join(map(str, marks))
            self.given[path, how.path] = Given(path, how.path, None, digest, _TOO_MANY)

    def _follow(
        self, path: str, real: str, status: os.stat_result, language: str, how: FileRun
    ) -> None:
        """Follow a program's imports of modules next to it or in the project."""
        self.looked_into += 1
        if self.looked_into > MAX_LOOKED_INTO or status.st_size > MAX_TEXT:
            return
        folder = path.rpartition("/")[0]
        bases = dict.fromkeys([folder, how.path.rpartition("/")[0], self.root, f"{self.root}/src"])
        for name in _imports(real, language, status.st_mtime_ns, status.st_size):
            for base in bases if language == kinds.PYTHON and name[0] != "." else (folder,):
                module = os.path.normpath(f"{base}/{name}")
                if self._is_there(module):
                    self.take(module, how)
                    break

    def _is_there(self, path: str) -> bool:
        """Return whether a file exists; cached, because many modules import the same files."""
        known = self.there.get(path)
        if known is None:
            known = self.there[path] = Path(path).is_file()
        return known

    def _standard_names(self, folder: str, how: FileRun) -> None:
        """Check for modules that hide one of the standard library, which any program may import."""
        for entry in _listed(folder):
            stem, dot, ending = entry.partition(".")
            if stem in _STANDARD and (ending == "py" or not dot):
                place = f"{folder}/{entry}"
                self.take(place if dot else f"{place}/__init__.py", FileRun(how.path, "module"))


_NO_TEXT, _TOO_LONG = "is not text", "is too long to be analyzed"
_TOO_MANY = "is one of too many files to analyze"


def _content(real: str) -> tuple[str | None, str, str] | None:
    """Return text, content digest and reason for missing text; None if the file cannot be
    opened.
    """
    try:
        descriptor = os.open(real, _READ)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return None
        try:
            data = file.read(MAX_HASHED + 1)
        except OSError:
            return None
    if len(data) > MAX_HASHED:
        marks = (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
        return None, "-".join(map(str, marks)), _TOO_LONG
    digest = sha256(data).hexdigest()
    if b"\0" in data[:8192]:
        return None, digest, _NO_TEXT
    if len(data) > MAX_TEXT:
        return None, digest, _TOO_LONG
    try:
        return data.decode().removeprefix("\ufeff"), digest, ""
    except UnicodeDecodeError:
        return None, digest, _NO_TEXT


@lru_cache(maxsize=2048)
def _imports(real: str, language: str, _changed: int, _size: int) -> tuple[str, ...]:
    content = _content(real)
    if content is None or content[0] is None:
        return ()
    found = kinds.imported(real, language, content[0])
    if language != kinds.PYTHON:
        return tuple(found)
    return tuple(
        name for name in found if name.partition("/")[0].partition(".")[0] not in _STANDARD
    )


def _listed(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return [entry.name for entry, _ in zip(entries, range(MAX_LISTED), strict=False)]
    except (OSError, ValueError):
        return []
