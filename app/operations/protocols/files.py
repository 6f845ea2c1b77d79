"""Protocol for reading and writing whole files of one workspace."""

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
    """Whole file: its bytes, and its permission bits if unusual."""

    data: bytes
    mode: int | None = None


@dataclass(frozen=True, slots=True)
class Edited:
    """Content of a file before and after one write.

    Attributes:
        path: its location below the workspace root, with links and `..` resolved if possible.
        before: None if there was no file, or its content was not read.
        after: None if the file was deleted.
        mode: previous permission bits.
        unread: why `before` is None for an existing entry: a deleted link, a deleted file that is
            too large or unreadable, a deleted pipe or socket.
    """

    path: str
    before: bytes | None
    after: bytes | None
    mode: int | None = field(default=None, compare=False)
    unread: Unread | None = None


FileStates = Mapping[str, FileState | None]
"""Current content by path; None if there is no file."""

Change = Callable[[FileStates], FileStates]
"""Maps the current contents to the new ones; omitted paths stay unchanged."""

BeforeWrite = Callable[[Sequence[Edited]], Awaitable[None]]
"""Called before the write while the files are locked; an exception prevents the write."""


async def nothing(_: Sequence[Edited]) -> None:
    """Allow every write."""


class FileOperations(Protocol):
    """Whole-file reads and atomic writes inside one workspace.

    Writing methods accept `fresh`: operations bound to a session then refuse, with ToolFailed
    `changed_since_read`, a file that differs from the state last read or written by the session.
    Others have no session, and write.
    """

    async def read(self, path: str, *, max_bytes: int) -> bytes:
        """Return the file's bytes.

        Raises:
            ToolFailed: code `file_not_found`, `not_a_file`, `file_too_large` (over
                `max_bytes`) or `permission_denied`.
        """

    async def stat(self, path: str) -> FileStat | None:
        """Return the status; None if nothing exists there."""

    async def place(self, path: str) -> str:
        """Return the absolute path without links and `..`; empty if it already has that form.

        The path need not exist, and links may lead out of the workspace: nothing is opened.
        """

    async def list_dir(self, path: str) -> list[FileStat]:
        """Return the direct children, directories first, then by name.

        Raises:
            ToolFailed: `file_not_found` or `not_a_directory`.
        """

    async def write(
        self, path: str, data: bytes, *, append: bool = False, fresh: bool = False
    ) -> Edited:
        """Replace or extend a file atomically, creating parents; the mode is preserved."""

    async def edit(
        self, path: str, change: Callable[[bytes], bytes], *, fresh: bool = False
    ) -> Edited:
        """Read, change and write back a file with exclusive access: concurrent edits are queued.

        If `change` raises, nothing is written.
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
        """Change several files, all or none, with exclusive access.

        `change` receives the contents of `paths` and runs in a thread; it may be called again if a
        file changed meanwhile. If a write fails, earlier writes are undone.

        Args:
            durable: wait until everything is on disk.

        Returns:
            The writes, in the order of `paths`.

        Raises:
            ToolFailed: errors of `change`; `same_file` if two paths name one file;
                `workspace_changing` if the files are changed continuously; `file_too_large`.
            StorageUnavailable: the disk is full; nothing has changed.
        """

    async def delete(self, path: str, *, before_write: BeforeWrite = nothing) -> Edited:
        """Delete a file and return its content. A link is deleted, not its target.

        Raises:
            ToolFailed: `file_not_found`, or `not_a_file` for a directory.
        """

    async def make_dir(self, path: str) -> bool:
        """Create a directory and its parents; False if it existed."""
