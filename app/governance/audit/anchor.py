"""External record of the head of the audit chain.

Anyone who can write to the database can truncate the chain and adjust its head. A separate file
with earlier heads reveals this. Copied to another machine, it also protects against someone who can
write to both.
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
    """Chain head at a point in time."""

    seq: int
    hash: str
    noted_at: str


class AnchorFile:
    """Lines of `seq hash time`, oldest first, readable by the owner only.

    A full file is renamed to `….1`, so two files bound the space. Lines are appended in one write
    each, so several processes may append without a lock.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._older = path.with_name(f"{path.name}.1")

    def append(self, anchor: Anchor) -> None:
        """Append a head and sync it to disk. Blocks.

        Raises:
            OSError: the file is not writable.
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
        """Return every readable head; empty without a file. Blocks."""
        return [*_read(self._older), *_read(self._path)]


def _read(path: Path) -> Iterator[Anchor]:
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return
    for line in text.splitlines():
        # A line truncated by a power failure was never acknowledged.
        seq, _, rest = line.partition(" ")
        digest, _, moment = rest.partition(" ")
        if seq.isdecimal() and len(digest) == _HASH_CHARS and moment:
            yield Anchor(int(seq), digest, moment)
