"""Reading and writing whole files of one workspace."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, Protocol

FileType = Literal["file", "directory", "other"]
Unread = Literal["link", "too_large", "unreadable", "special"]


@dataclass(frozen=True, slots=True)
class FileStat:
    """One path: `path` is relative to the workspace root, `size` in bytes, `modified` UTC."""

    path: str
    type: FileType
    size: int
    modified: datetime
    mode: int = 0o644


@dataclass(frozen=True, slots=True)
class FileState:
    """A whole file: its bytes, and its permission bits where they are not the usual ones."""

    data: bytes
    mode: int | None = None


@dataclass(frozen=True, slots=True)
class Edited:
    """Content of a file around one write.

    Attributes:
        path: where it lies below the workspace root, links and `..` resolved where that
            can be told.
        before: None when there was no file, or none whose content was read.
        after: None when the file is gone.
        mode: the permission bits it had.
        unread: why `before` is None although something was there: a deleted link, a deleted
            file that is too large to be carried or may not be read, a deleted pipe or socket.
    """

    path: str
    before: bytes | None
    after: bytes | None
    mode: int | None = field(default=None, compare=False)
    unread: Unread | None = None


FileStates = Mapping[str, FileState | None]
"Current content by path; None if there is no file."

Change = Callable[[FileStates], FileStates]
"Maps the current contents to the new ones; omitted paths stay unchanged."

BeforeWrite = Callable[[Sequence[Edited]], Awaitable[None]]
"Called before the write while the files are locked; an exception prevents the write."


async def nothing(_: Sequence[Edited]) -> None:
    """Whoever writes may go on."""


class FileOperations(Protocol):
    """Whole-file reads and atomic writes inside one workspace.

    What writes takes `fresh`: operations that are bound to a session then refuse, with
    ToolFailed `changed_since_read`, a file that differs from what the session last read or
    wrote. Others know no session, and write.
    """

    async def read(self, path: str, *, max_bytes: int) -> bytes:
        """The file's bytes.

        Raises:
            ToolFailed: code `file_not_found`, `not_a_file`, `file_too_large` (over
                `max_bytes`) or `permission_denied`.
        """

    async def stat(self, path: str) -> FileStat | None:
        """None when nothing is there."""

    async def place(self, path: str) -> str:
        """Its absolute path without links and `..`; empty where it is written so already.

        Nothing need be there, and links may lead out of the workspace: nothing is opened.
        """

    async def list_dir(self, path: str) -> list[FileStat]:
        """Direct children, directories first, then by name.

        Raises:
            ToolFailed: `file_not_found` or `not_a_directory`.
        """

    async def write(
        self, path: str, data: bytes, *, append: bool = False, fresh: bool = False
    ) -> Edited:
        """Replace or extend a file atomically, creating parents; the mode is kept."""

    async def edit(
        self, path: str, change: Callable[[bytes], bytes], *, fresh: bool = False
    ) -> Edited:
        """Read, change, write back, alone with the file: concurrent edits queue up.

        `change` may raise; then nothing is written.
        """

    async def apply(
        self,
        paths: Sequence[str],
        change: Change,
        *,
        fresh: bool = False,
        durable: bool = False,
        before_write: BeforeWrite = nothing,
    ) -> list[Edited]:
        """Change several files, all of them or none, alone with all of them.

        `change` gets what is under each of `paths` and runs in a thread; it may be asked
        again when a file changed meanwhile. When a write fails, what was written is put back.

        Args:
            durable: wait until everything is on the disk.

        Returns:
            What was written, in the order of `paths`.

        Raises:
            ToolFailed: whatever `change` raises; `same_file` when two paths name one file;
                `workspace_changing` when somebody else keeps writing; `file_too_large`.
            StorageUnavailable: the disk is full; nothing has changed.
        """

    async def delete(self, path: str, *, before_write: BeforeWrite = nothing) -> Edited:
        """Remove a file; what was there comes back. A link goes, not what it leads to.

        Raises:
            ToolFailed: `file_not_found`, or `not_a_file` for a directory.
        """

    async def make_dir(self, path: str) -> bool:
        """Create a directory and its parents; False when it was there already."""
