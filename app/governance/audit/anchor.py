"""The end of the audit's chain, noted outside the database.

Whoever can write to the database can cut the chain and put its head back to fit. A copy
of earlier ends in a file of its own shows that. Kept on another machine, the same lines
also stand against somebody who can write to both.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FILE_NAME = "audit.anchor"
MAX_BYTES = 128 << 10
_HASH_CHARS = 64


@dataclass(frozen=True, slots=True)
class Anchor:
    """What the chain's end was at a moment."""

    seq: int
    hash: str
    noted_at: str


class AnchorFile:
    """`seq hash moment` per line, oldest first, for the owner alone.

    A full file makes room by becoming `….1`, so that two of them bound the space. Lines are
    appended in one write each: several processes may note theirs without a lock.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._older = path.with_name(f"{path.name}.1")

    def append(self, anchor: Anchor) -> None:
        """Note an end, and see it to the disk. Blocks.

        Raises:
            OSError: the file cannot be written.
        """
        if self._path.exists() and self._path.stat().st_size >= MAX_BYTES:
            self._path.replace(self._older)
        line = f"{anchor.seq} {anchor.hash} {anchor.noted_at}\n".encode()
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        descriptor = os.open(self._path, flags, 0o600)
        try:
            os.write(descriptor, line)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def read(self) -> list[Anchor]:
        """Every noted end that can be read; none when there is no file. Blocks."""
        return [*_read(self._older), *_read(self._path)]


def _read(path: Path) -> Iterator[Anchor]:
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return
    for line in text.splitlines():
        # A line that a power cut left half written has not been promised to anybody.
        seq, _, rest = line.partition(" ")
        digest, _, moment = rest.partition(" ")
        if seq.isdecimal() and len(digest) == _HASH_CHARS and moment:
            yield Anchor(int(seq), digest, moment)
