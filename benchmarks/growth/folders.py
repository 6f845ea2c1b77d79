"""Data folders by their number of sessions: built once, and copied for each measurement."""

from __future__ import annotations

import asyncio
import resource
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from app.db.schema import ensure_schema
from benchmarks.growth.build import Contents, build, folder_settings

_CONTENTS = "contents.json"
_REPORT_EVERY_S = 10.0


class UnusableFolder(Exception):
    """A kept folder does not contain what is to be measured; the message says what to do."""


def say(text: str) -> None:
    """Print to standard error; standard output is for results."""
    print(text, file=sys.stderr, flush=True)


class DataFolders:
    """Data folders below one folder.

    Args:
        lengths: number of events of each long session.
    """

    def __init__(self, root: Path, lengths: Sequence[int]) -> None:
        self._root = root
        self._lengths = tuple(lengths)
        self._copies = 0
        self._used: dict[int, Contents] = {}

    @property
    def used(self) -> list[Contents]:
        """Contents of the folders that were requested, by size."""
        return [self._used[size] for size in sorted(self._used)]

    async def contents(self, sessions: int) -> Contents:
        """Return the contents of the folder with this number of sessions; build it if missing.

        Raises:
            UnusableFolder: it was built with other long sessions.
        """
        place = self._place(sessions)
        if not place.exists():
            await self._build(place, sessions)
        contents = Contents.from_json((place / _CONTENTS).read_text(encoding="utf-8"))
        if set(self._lengths) - set(contents.long):
            raise UnusableFolder(
                f"{place} has long sessions of {sorted(contents.long)} events; pass --events with "
                "these numbers, or remove the folder"
            )
        # A folder of an earlier commit: its migration is not part of any measurement.
        await asyncio.to_thread(ensure_schema, folder_settings(place / "data").database_path)
        self._used[sessions] = contents
        return contents

    async def copy(self, sessions: int, target: Path) -> Path:
        """Copy the data of a built folder into a new one below `target`; return its path."""
        self._copies += 1
        copied = target / f"data-{self._copies}"
        await asyncio.to_thread(shutil.copytree, self._place(sessions) / "data", copied)
        return copied

    def _place(self, sessions: int) -> Path:
        return self._root / f"sessions-{sessions}"

    async def _build(self, place: Path, sessions: int) -> None:
        # Renamed at the end: an interrupted build must not be measured.
        part = place.with_suffix(".part")
        shutil.rmtree(part, ignore_errors=True)
        began = reported = time.monotonic()
        say(f"building a folder of {sessions:,} sessions ...")

        def report(count: int) -> None:
            nonlocal reported
            if time.monotonic() - reported >= _REPORT_EVERY_S:
                reported = time.monotonic()
                say(f"  {count:,} of {sessions:,} sessions ({reported - began:.0f} s)")

        contents = await build(part / "data", sessions, self._lengths, report)
        (part / _CONTENTS).write_text(contents.to_json(), encoding="utf-8")
        part.rename(place)
        took = time.monotonic() - began
        say(f"  built and verified in {took:.0f} s, {_peak_mib()} MiB of memory at most")


def _peak_mib() -> int:
    """Return the most memory that this process has used so far."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak >> (20 if sys.platform == "darwin" else 10)
