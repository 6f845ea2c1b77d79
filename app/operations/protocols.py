"""What tools may do to the world, as Protocols.

Paths are strings as a caller wrote them: relative to the workspace root, or absolute
inside it. An implementation refuses everything else with `OutsideWorkspace`, also when
a symbolic link or a racing rename leads outside. All errors are `TollgateError`s.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, Protocol

FileType = Literal["file", "directory", "other"]


@dataclass(frozen=True, slots=True)
class FileStat:
    """One path: `path` is relative to the workspace root, `size` in bytes, `modified` UTC."""

    path: str
    type: FileType
    size: int
    modified: datetime
    mode: int = 0o644


@dataclass(frozen=True, slots=True)
class Edited:
    """Content of a file around one write; `before` is None when the file is new."""

    path: str
    before: bytes | None
    after: bytes


class FileOperations(Protocol):
    """Whole-file reads and atomic writes inside one workspace."""

    async def read(self, path: str, *, max_bytes: int) -> bytes:
        """The file's bytes.

        Raises:
            ToolFailed: code `file_not_found`, `not_a_file`, `file_too_large` (over
                `max_bytes`) or `permission_denied`.
        """

    async def stat(self, path: str) -> FileStat | None:
        """None when nothing is there."""

    async def list_dir(self, path: str) -> list[FileStat]:
        """Direct children, directories first, then by name.

        Raises:
            ToolFailed: `file_not_found` or `not_a_directory`.
        """

    async def write(self, path: str, data: bytes, *, append: bool = False) -> Edited:
        """Replace or extend a file atomically, creating parents; the mode is kept."""

    async def edit(self, path: str, change: Callable[[bytes], bytes]) -> Edited:
        """Read, change, write back, alone with the file: concurrent edits queue up.

        `change` may raise; then nothing is written.
        """

    async def delete(self, path: str) -> None:
        """Remove a file.

        Raises:
            ToolFailed: `file_not_found`, or `not_a_file` for a directory.
        """

    async def make_dir(self, path: str) -> bool:
        """Create a directory and its parents; False when it was there already."""


@dataclass(frozen=True, slots=True)
class FindQuery:
    """Which files to list.

    Attributes:
        path: directory to start in.
        pattern: glob with `**`, matched against the path relative to `path`; a pattern
            without `/` is matched against the name at any depth.
        type: `file`, `dir` or `all`.
        limit, offset: page of the sorted result; limit 0 means no limit.
        respect_ignore: leave out what `.gitignore` names, and `.git` itself.
    """

    path: str = "."
    pattern: str = "**/*"
    type: Literal["file", "dir", "all"] = "file"
    sort: Literal["path", "modified"] = "path"
    limit: int = 200
    offset: int = 0
    respect_ignore: bool = True
    include_hidden: bool = False
    case_insensitive: bool = False


@dataclass(frozen=True, slots=True)
class FindResult:
    """One page of matches, `total` of them before paging; `truncated` when more exist."""

    entries: tuple[FileStat, ...]
    total: int
    truncated: bool


@dataclass(frozen=True, slots=True)
class GrepQuery:
    """What to search for.

    Attributes:
        pattern: regular expression in RE2 syntax, or literal text with `fixed_strings`.
        glob: only files whose relative path or name matches.
        before, after: lines of context.
        limit, offset: page of matching lines (of files in the two file modes).
        max_file_bytes: larger files are skipped and counted.
    """

    pattern: str
    path: str = "."
    glob: str | None = None
    mode: Literal["content", "files_with_matches", "count"] = "content"
    fixed_strings: bool = False
    case_insensitive: bool = False
    multiline: bool = False
    before: int = 0
    after: int = 0
    limit: int = 250
    offset: int = 0
    max_file_bytes: int = 64 << 20
    respect_ignore: bool = True
    include_hidden: bool = False


@dataclass(frozen=True, slots=True)
class GrepLine:
    """One line of output; `is_match` is False for context. `line_number` starts at 1."""

    path: str
    line_number: int
    text: str
    is_match: bool = True


@dataclass(frozen=True, slots=True)
class GrepResult:
    """Lines (`content`), or a count per file in the two file modes.

    The count is the number of matching lines in mode `count`, and 1 in `files_with_matches`.
    """

    lines: tuple[GrepLine, ...] = ()
    counts: tuple[tuple[str, int], ...] = ()
    total: int = 0
    files_searched: int = 0
    files_skipped: int = 0
    truncated: bool = False


class SearchOperations(Protocol):
    """Reading many files at once. Cancelling the awaiting task stops the work."""

    async def find(self, query: FindQuery) -> FindResult:
        """Raises ToolFailed `file_not_found`, `not_a_directory`, `invalid_pattern`."""

    async def grep(self, query: GrepQuery) -> GrepResult:
        """Binary files are skipped. Raises ToolFailed as `find` does."""


@dataclass(frozen=True, slots=True)
class ProcessLimits:
    """Kernel limits of one process tree; None leaves a limit as it is.

    Attributes:
        cpu_s: CPU seconds per process.
        file_bytes: largest file it may write.
        processes: processes of the user, ours included.
        memory_bytes: data segment per process.
    """

    cpu_s: int | None = 600
    file_bytes: int | None = 1 << 30
    processes: int | None = None
    memory_bytes: int | None = 2 << 30
    open_files: int | None = 1024


@dataclass(frozen=True, slots=True)
class ProcessSpec:
    """What to start. The environment starts empty but for a fixed safe set plus `env`."""

    argv: tuple[str, ...]
    cwd: str = "."
    env: Mapping[str, str] = field(default_factory=dict)
    stdin: bytes | None = None
    limits: ProcessLimits = field(default_factory=ProcessLimits)


@dataclass(frozen=True, slots=True)
class ProcessChunk:
    """Bytes as they came."""

    stream: Literal["stdout", "stderr"]
    data: bytes


@dataclass(frozen=True, slots=True)
class ProcessExit:
    """`code` is the exit status; when a signal ended it, `code` is 128 + `signal`."""

    code: int
    signal: int | None = None


class RunningProcess(Protocol):
    """One started process tree."""

    @property
    def pid(self) -> int: ...

    def output(self) -> AsyncIterator[ProcessChunk]:
        """Both streams as they come, until the process has ended and its pipes are drained."""

    async def wait(self) -> ProcessExit:
        """How it ended. Output nobody reads is discarded meanwhile."""

    async def kill(self) -> None:
        """End the whole tree: terminate, then kill; returns when nothing of it is left."""


class ProcessOperations(Protocol):
    """Starting processes inside one workspace."""

    def open(self, spec: ProcessSpec) -> AbstractAsyncContextManager[RunningProcess]:
        """Start `spec`; leaving the context kills whatever of the tree still runs.

        Raises (on entering): ToolFailed `program_not_found`, `not_a_directory`;
        OutsideWorkspace for a `cwd` outside.
        """


@dataclass(frozen=True, slots=True)
class Operations:
    """The three together, bound to one workspace root."""

    root: str
    files: FileOperations
    search: SearchOperations
    processes: ProcessOperations
