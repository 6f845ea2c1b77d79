"""Protocol for searching many files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from app.operations.protocols.files import FileStat


@dataclass(frozen=True, slots=True)
class FindQuery:
    """Query for files.

    Attributes:
        path: directory to start in.
        pattern: glob with `**`, matched against the path relative to `path`; a pattern without `/`
            is matched against the name at any depth; a leading `!` inverts it.
        type: `file`, `dir` or `all`.
        limit, offset: page of the sorted result; limit 0 means no limit.
        max_depth: deepest listed level, 1 for the entries of `path`; None for all.
        respect_ignore: exclude files named in `.gitignore` and `.ignore`, and `.git` itself.
    """

    path: str = "."
    pattern: str = "**/*"
    type: Literal["file", "dir", "all"] = "file"
    sort: Literal["path", "modified"] = "path"
    limit: int = 200
    offset: int = 0
    max_depth: int | None = None
    respect_ignore: bool = True
    include_hidden: bool = False
    case_insensitive: bool = False


@dataclass(frozen=True, slots=True)
class FindResult:
    """Page of matches out of `total`; `truncated` if more exist."""

    entries: tuple[FileStat, ...]
    total: int
    truncated: bool


@dataclass(frozen=True, slots=True)
class GrepQuery:
    """Query for lines.

    Attributes:
        pattern: regular expression in RE2 syntax, or literal text with `fixed_strings`.
        glob: only files whose relative path or name matches; with a leading `!`, all others.
        word: matches must be whole words (of letters, digits and `_`).
        invert: select lines without a match; in the file modes, files with such a line.
        before, after: lines of context.
        limit, offset: page of matching lines (files in the two file modes).
        max_depth: see `FindQuery`.
        max_file_bytes: larger files are skipped and counted.
        max_named_bytes: the same for `path`, if it is a file.
    """

    pattern: str
    path: str = "."
    glob: str | None = None
    glob_case_insensitive: bool = False
    mode: Literal["content", "files_with_matches", "count"] = "content"
    fixed_strings: bool = False
    case_insensitive: bool = False
    multiline: bool = False
    word: bool = False
    invert: bool = False
    before: int = 0
    after: int = 0
    limit: int = 250
    offset: int = 0
    max_depth: int | None = None
    max_file_bytes: int = 64 << 20
    max_named_bytes: int = 64 << 20
    respect_ignore: bool = True
    include_hidden: bool = False


@dataclass(frozen=True, slots=True)
class GrepLine:
    """Line of output; `is_match` is False for context. `line_number` starts at 1."""

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
    """Operations that search many files. Cancelling the awaiting task stops the work."""

    async def find(self, query: FindQuery) -> FindResult:
        """Find files. Raises ToolFailed `file_not_found`, `not_a_directory`, `invalid_pattern`."""

    async def grep(self, query: GrepQuery) -> GrepResult:
        """Search file contents, skipping binary files. Raises ToolFailed, see `find`."""
