"""File changes that undo a run."""

from __future__ import annotations

from collections.abc import Sequence

from app.core.errors import Conflict, InvalidInput
from app.execution.checkpoints.blobs import digest_of
from app.execution.checkpoints.store import Record
from app.operations.protocols.files import Edited, FileStates

MAX_NAMED = 20


class RestorePlan:
    """`Change` that restores files; raises `Conflict` if a file was changed after the run.

    Attributes:
        written: restored paths.
    """

    def __init__(self, records: Sequence[Record], before: FileStates, *, force: bool) -> None:
        self._records = records
        self._before = before
        self._force = force
        self.written: set[str] = set()

    def __call__(self, found: FileStates) -> FileStates:
        later = []
        self.written = set()
        for record in self._records:
            there = found[record.path]
            now = None if there is None else digest_of(there.data)
            if now == record.before_sha256:
                continue
            if now != record.after_sha256:
                later.append(record.path)
            self.written.add(record.path)
        if later and not self._force:
            raise Conflict(
                f"Changed after the run: {', '.join(later[:MAX_NAMED])}; nothing was "
                "restored. Review the differences, then restore with force",
                files=later[:MAX_NAMED],
                count=len(later),
            )
        return {path: self._before[path] for path in self.written}


def chosen(records: list[Record], paths: Sequence[str] | None) -> list[Record]:
    """Return the records of `paths`; all if None.

    Raises:
        InvalidInput: a path has no record.
    """
    if paths is None:
        return records
    unknown = sorted(set(paths) - {record.path for record in records})
    if unknown:
        raise InvalidInput(f"The run did not change {unknown[0]!r}", field="body.paths")
    return [record for record in records if record.path in paths]


def stay_in_place(records: Sequence[Record], edits: Sequence[Edited]) -> None:
    """Check that every write affects a file of the run.

    Raises:
        Conflict: a path now links to another file.
    """
    own = {record.path for record in records}
    elsewhere = [edit.path for edit in edits if edit.path not in own]
    if elsewhere:
        raise Conflict(
            f"A file of the run is now reached through a link to {elsewhere[0]!r}; "
            "nothing was restored. Remove the link, or name the other files in "
            "'paths'",
            files=elsewhere[:MAX_NAMED],
        )
