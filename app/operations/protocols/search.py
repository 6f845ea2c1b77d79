"""Reading many files at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from app.operations.protocols.files import FileStat


@dataclass(frozen=True, slots=True)
class FindQuery:
    """Which files to list.

    Attributes:
        path: directory to start in.
        pattern: glob with `**`, matched against the path relative to `path`; a pattern
            without `/` is matched against the name at any depth; a leading `!` turns it round.
        type: `file`, `dir` or `all`.
        limit, offset: page of the sorted result; limit 0 means no limit.
        max_depth: deepest folder level whose entries are listed, 1 for `path` itself; None
            for all.
        respect_ignore: leave out what `.gitignore` and `.ignore` name, and `.git` itself.
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
    """One page of matches, `total` of them before paging; `truncated` when more exist."""

    entries: tuple[FileStat, ...]
    total: int
    truncated: bool


@dataclass(frozen=True, slots=True)
class GrepQuery:
    """What to search for.

    Attributes:
        pattern: regular expression in RE2 syntax, or literal text with `fixed_strings`.
        glob: only files whose relative path or name matches; all but those with a leading `!`.
        word: a match is not part of a longer word (of letters, digits and `_`).
        invert: lines without a match; in the file modes, files that have such a line.
        before, after: lines of context.
        limit, offset: page of matching lines (of files in the two file modes).
        max_depth: as in `FindQuery`.
        max_file_bytes: larger files are skipped and counted.
        max_named_bytes: the same for `path`, where it names a file.
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
